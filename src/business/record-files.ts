import { createInterface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
import { type CsvError, parse } from 'csv-parse';
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

/** Reads records one by one. `names` are the columns that a CSV file may have. */
export function readRecords(input: Readable, format: FileFormat, names: string[]): AsyncIterable<FileLine> {
  return format === 'csv' ? readCsv(input, names) : readJsonLines(input);
}

interface CsvRecord {
  record: string[];
  info: { lines: number };
}

/** The first record is the header. An empty value counts as absent. */
async function* readCsv(input: Readable, names: string[]): AsyncIterable<FileLine> {
  const parser = input.pipe(parse({ bom: true, info: true, relax_column_count: true, skip_empty_lines: true }));
  input.once('error', (error) => parser.destroy(error));
  let header: string[] | undefined;
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRecord>) {
      if (header) {
        yield toLine(header, record, info.lines);
        continue;
      }
      header = record.map((name) => name.trim());
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

function toLine(header: string[], record: string[], line: number): FileLine {
  if (record.length !== header.length) {
    const message = `has ${record.length} values, and the header names ${header.length}`;
    return { line, values: {}, problem: { field: '', message } };
  }
  const values: Values = {};
  for (const [index, name] of header.entries()) {
    const cell = record[index];
    if (cell) values[name] = unescapeFormulas(cell);
  }
  return { line, values };
}

async function* readJsonLines(input: Readable): AsyncIterable<FileLine> {
  let line = 0;
  for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    line++;
    if (text.trim() !== '') yield { line, ...parseObject(text) };
  }
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
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
