import type { Kysely } from 'kysely';
import { formatAmount, isCurrency, parseAmount } from '../lib/money.ts';
import { type Field, FieldError, type Resource, type Values } from '../resources/resource.ts';
import type { Database } from '../storage/storage.ts';
import type { RecordsTable } from '../storage/tables.ts';

export type Row = Record<string, string | number | null>;

/** Typed by the columns that the tables of all resources have. */
export const recordsIn = (db: Database) => db as unknown as Kysely<Record<string, RecordsTable>>;

export function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The fields of the response for one record, or of one element of a list. */
export function shownFields({ fields }: Resource, withDetails: boolean): [name: string, field: Field][] {
  return Object.entries(fields).filter(([, field]) => withDetails || !field.isDetail);
}

/** Lists have no versions. */
export function columnsOf(resource: Resource, withDetails: boolean): string[] {
  const columns = shownColumns(resource, withDetails).map(({ column }) => column);
  return ['id', ...columns, ...(withDetails ? ['version'] : []), 'created_at', 'updated_at'];
}

interface ShownColumn {
  name: string;
  column: string;
  field: Field;
}

/** With and without details. A page has up to a hundred rows of the same columns. */
const shownColumnsOf = new WeakMap<Resource, [ShownColumn[], ShownColumn[]]>();

function shownColumns(resource: Resource, withDetails: boolean): ShownColumn[] {
  const [all, summary] = shownColumnsOf.get(resource) ?? describeColumns(resource);
  return withDetails ? all : summary;
}

function describeColumns(resource: Resource): [ShownColumn[], ShownColumn[]] {
  const describe = (withDetails: boolean) =>
    shownFields(resource, withDetails).map(([name, field]) => ({ name, field, column: columnOf(name) }));
  const columns: [ShownColumn[], ShownColumn[]] = [describe(true), describe(false)];
  shownColumnsOf.set(resource, columns);
  return columns;
}

export function fromRow(resource: Resource, row: Row, withDetails: boolean): Values {
  const values: Values = { id: row.id };
  for (const { name, column, field } of shownColumns(resource, withDetails)) {
    values[name] = fromColumn(field, row[column] ?? null, row.currency);
  }
  values.createdAt = formatTime(Number(row.created_at));
  values.updatedAt = formatTime(Number(row.updated_at));
  return values;
}

let lastTime = { at: Number.NaN, text: '' };

/** Formatting takes a microsecond, and many times of a page are equal: records are imported together, and rarely changed. */
function formatTime(at: number): string {
  if (at !== lastTime.at) lastTime = { at, text: new Date(at).toISOString() };
  return lastTime.text;
}

function fromColumn({ stored }: Field, value: string | number | null, currency: unknown): unknown {
  if (value === null) return null;
  if (stored === 'amount') return formatAmount(String(value), String(currency));
  if (stored === 'json') return JSON.parse(String(value));
  return stored === 'flag' ? value === 1 : value;
}

/** Throws `FieldError` for an amount or currency that does not exist. */
export function toColumns({ fields }: Resource, values: Values): Row {
  const { currency } = values;
  if (typeof currency === 'string' && !isCurrency(currency)) {
    throw new FieldError('currency', 'must be an ISO 4217 code, for example GBP');
  }
  const columns = Object.entries(fields).map(([name, field]) => [
    columnOf(name),
    toColumn(name, field, values[name] ?? null, currency),
  ]);
  return Object.fromEntries(columns);
}

function toColumn(name: string, { stored }: Field, value: unknown, currency: unknown): string | number | null {
  if (value === null) return null;
  if (stored === 'json') return JSON.stringify(value).toWellFormed();
  if (stored === 'flag') return value ? 1 : 0;
  if (stored !== 'amount') return String(value).toWellFormed();
  const minor = parseAmount(String(value), String(currency));
  if (minor === undefined) throw new FieldError(name, `has more decimals than ${currency} has`);
  return minor.toString();
}
