import type { Readable } from 'node:stream';
import { type CsvError, type Options, parse } from 'csv-parse';
import { escapeFormulas, unescapeFormulas } from '../lib/csv.ts';
import type { Resource, Values } from '../resources/resource.ts';
import { shownFields } from './rows.ts';

/** The formats of files with records, by their usual extension. */
export const FILE_FORMATS = ['csv', 'jsonl'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** One record of a file, or what is wrong with the line. */
export interface FileLine {
  line: number;
  values: Values;
  problem?: { field: string; message: string };
}

/** What a CSV file may have. */
export interface Columns {
  names: string[];
  /** Those whose value may be an empty text. */
  texts: string[];
}

/** Reads records one by one. */
export function readRecords(input: Readable, format: FileFormat, columns: Columns): AsyncIterable<FileLine> {
  return format === 'csv' ? readCsv(input, columns) : readJsonLines(input);
}

/** Null is nothing between two commas, and `""` an empty text. */
type Cell = string | null;

interface CsvRecord {
  record: Cell[];
  info: { lines: number };
}

const CSV_OPTIONS: Options = {
  bom: true,
  info: true,
  relax_column_count: true,
  skip_empty_lines: true,
  cast: (value, { quoting }) => (value === '' && !quoting ? null : value),
};

/** The first record is the header. An empty value counts as absent, unless it is an empty text. */
async function* readCsv(input: Readable, { names, texts }: Columns): AsyncIterable<FileLine> {
  const parser = input.pipe(parse(CSV_OPTIONS));
  input.once('error', (error) => parser.destroy(error));
  let header: string[] | undefined;
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRecord>) {
      if (header) {
        yield toLine({ header, texts }, record, info.lines);
        continue;
      }
      header = record.map((name) => name?.trim() ?? '');
      const problems = checkHeader(header, names);
      if (problems.length > 0) return yield* problems;
    }
  } catch (error) {
    const { code, lines } = error as CsvError;
    if (!code?.startsWith('CSV_')) throw error;
    yield {
      line: Number(lines),
      values: {},
      problem: { field: '', message: 'is not CSV: a quote is not closed, or is in the middle of a value' },
    };
  } finally {
    input.destroy();
  }
}

/** A wrong header is reported once, and not for each line. */
function checkHeader(header: string[], names: string[]): FileLine[] {
  const report = (field: string, message: string) => ({ line: 1, values: {}, problem: { field, message } });
  return header.flatMap((name, index) => {
    if (!names.includes(name)) return [report(name, `is not one of the columns ${names.join(', ')}`)];
    return header.indexOf(name) < index ? [report(name, 'is repeated')] : [];
  });
}

function toLine({ header, texts }: { header: string[]; texts: string[] }, record: Cell[], line: number): FileLine {
  if (record.length !== header.length) {
    const message = `has ${record.length} values, and the header names ${header.length}`;
    return { line, values: {}, problem: { field: '', message } };
  }
  const values: Values = {};
  for (const [index, name] of header.entries()) {
    const cell = record[index];
    if (cell || (cell === '' && texts.includes(name))) values[name] = unescapeFormulas(cell);
  }
  return { line, values };
}

async function* readJsonLines(input: Readable): AsyncIterable<FileLine> {
  let line = 0;
  for await (const text of splitLines(input)) {
    line++;
    if (text.trim() !== '') yield { line, ...parseObject(text) };
  }
}

/** `readline` also splits at U+2028 and U+2029, which JSON does not escape. */
async function* splitLines(input: Readable): AsyncIterable<string> {
  let rest = '';
  for await (const part of input.setEncoding('utf8')) {
    const [first = '', ...others] = String(part).split('\n');
    rest += first;
    for (const line of others) {
      yield rest;
      rest = line;
    }
  }
  yield rest;
}

function parseObject(text: string): Omit<FileLine, 'line'> {
  try {
    const values: unknown = JSON.parse(text);
    if (typeof values === 'object' && values !== null && !Array.isArray(values)) return { values: values as Values };
  } catch {
    // Reported below.
  }
  return { values: {}, problem: { field: '', message: 'is not a JSON object' } };
}

/** The names of the columns, for CSV. */
export function headerOf(resource: Resource, format: FileFormat): string {
  return format === 'csv' ? `${namesOf(resource).map(quote).join(',')}\r\n` : '';
}

export function formatRecord(resource: Resource, values: Values, format: FileFormat): string {
  if (format === 'jsonl') return `${JSON.stringify(values)}\n`;
  return `${namesOf(resource)
    .map((name) => quote(values[name]))
    .join(',')}\r\n`;
}

function namesOf(resource: Resource): string[] {
  return ['id', ...shownFields(resource, true).map(([name]) => name), 'createdAt', 'updatedAt'];
}

/** RFC 4180, without formulas. */
function quote(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = escapeFormulas(typeof value === 'object' ? JSON.stringify(value) : String(value));
  return /[",\r\n]|^\s|\s$|^$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
