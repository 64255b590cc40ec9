import { styleText } from 'node:util';

/** Lines of help are at most this long. */
export const WIDTH = 80;

/** Fields with times: createdAt, failingSince, oldSecretUntil. */
const TIME = /(?:^a|A)t$|(?:^s|S)ince$|(?:^u|U)ntil$/;

/** Times in milliseconds become ISO 8601, in every object and list. */
export function withIsoTimes<Value>(value: Value): Value;
export function withIsoTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withIsoTimes(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      typeof field === 'number' && TIME.test(name) ? new Date(field).toISOString() : withIsoTimes(field),
    ]),
  );
}

/** One line per field; a list of objects is a table below them, of the given columns. */
export function formatResult(result: object, columns?: readonly string[]): string {
  const entries = Object.entries(withIsoTimes(result));
  const lines = entries.filter(([, value]) => !isTable(value)).map(([name, value]) => `${name}: ${formatCell(value)}`);
  const tables = entries.filter(([, value]) => isTable(value)).map(([name, rows]) => formatTable(name, rows, columns));
  return [...(lines.length > 0 ? [lines.join('\n')] : []), ...tables].join('\n\n');
}

const isTable = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null);

/** Terms of the pages, where those of the JSON differ. */
const TERMS: Record<string, string> = { requiresSecondFactor: 'requires two-step sign-in' };

type Row = Record<string, unknown>;

function formatTable(name: string, rows: Row[], columns: readonly string[] = Object.keys(rows[0] ?? {})): string {
  if (rows.length === 0) return `${name}: none`;
  const headings = columns.map((column) =>
    (TERMS[column] ?? column)
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .replaceAll('_', ' ')
      .toUpperCase(),
  );
  const cells = rows.map((row) => columns.map((column) => formatCell(row[column])));
  const widths = headings.map((heading, i) =>
    Math.max(...[heading, ...cells.map((row) => row[i] ?? '')].map(lengthOf)),
  );
  const align = (row: string[]) =>
    row
      .map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - lengthOf(cell)))
      .join('  ')
      .trimEnd();
  return [bold(align(headings)), ...cells.map(align)].join('\n');
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (isTable(value)) return String((value as Row[]).length);
  if (Array.isArray(value)) return value.map(formatCell).join(' ');
  if (typeof value === 'object') return JSON.stringify(value);
  return printable(String(value));
}

/** A name that a user chose must not control the terminal. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd');
}

const lengthOf = (text: string): number => [...text].length;

/** The second column is wrapped below itself. */
export function formatTerms(terms: [term: string, text: string][]): string {
  const width = Math.max(...terms.map(([term]) => term.length));
  return terms
    .map(
      ([term, text]) => `  ${term.padEnd(width)}  ${wrap(text, WIDTH - width - 4).join(`\n${' '.repeat(width + 4)}`)}`,
    )
    .join('\n');
}

/** Breaks text into lines at spaces. A longer word is a line of its own. */
export function wrap(text: string, width = WIDTH): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length > width && line !== '') lines.push(line);
    line = longer.length > width ? word : longer;
  }
  return [...lines, line];
}

/** `a, b or c`. */
export function formatChoices(choices: readonly string[]): string {
  return choices.join(', ').replace(/, ([^,]*)$/, ' or $1');
}

/** Only if standard output is a terminal, and NO_COLOR is not set. */
export function bold(text: string): string {
  return styleText('bold', text, { stream: process.stdout });
}

export function color(name: 'green' | 'yellow' | 'red', text: string): string {
  return styleText(name, text, { stream: process.stdout });
}
