import type { Kysely } from 'kysely';
import { formatAmount, isOrWasCurrency, parseAmount } from '../lib/money.ts';
import { type Field, FieldError, type Resource, type Stored, type Values } from '../resources/resource.ts';
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

/** Under the names of the fields, so that `fromRow` need not copy the row. */
export function columnsOf(resource: Resource, withDetails: boolean): string[] {
  const names = [...shownFields(resource, withDetails).map(([name]) => name), 'createdAt', 'updatedAt'];
  return ['id', ...names.map((name) => (columnOf(name) === name ? name : `${columnOf(name)} as ${name}`))];
}

type FromColumn = (value: string | number, currency: string) => unknown;

/** By how a value is stored. All others are stored as the API shows them. */
const FROM_COLUMN: Partial<Record<Stored, FromColumn>> = {
  amount: formatAmount,
  json: (value) => JSON.parse(String(value)),
  flag: (value) => value === 1,
};

/** The fields that are stored in another form than the API shows. A page has up to a hundred rows of the same fields. */
const convertedFieldsOf = new WeakMap<Resource, [name: string, fromColumn: FromColumn][]>();

function findConvertedFields(resource: Resource): [name: string, fromColumn: FromColumn][] {
  const found = Object.entries(resource.fields).flatMap(([name, { stored }]): [string, FromColumn][] => {
    const fromColumn = FROM_COLUMN[stored];
    return fromColumn ? [[name, fromColumn]] : [];
  });
  convertedFieldsOf.set(resource, found);
  return found;
}

/** Changes a row that was read with `columnsOf` into the values of the record. */
export function fromRow(resource: Resource, row: Row): Values {
  const values: Values = row;
  const currency = String(row.currency);
  for (const [name, fromColumn] of convertedFieldsOf.get(resource) ?? findConvertedFields(resource)) {
    const value = row[name] ?? null;
    if (value !== null) values[name] = fromColumn(value, currency);
  }
  values.createdAt = formatTime(Number(row.createdAt));
  values.updatedAt = formatTime(Number(row.updatedAt));
  return values;
}

/** The values of a record that is about to be inserted. */
export function fromNewRow(resource: Resource, row: Row): Values {
  const { id = null, created_at = null, updated_at = null } = row;
  const fields = shownFields(resource, true).map(([name]) => [name, row[columnOf(name)] ?? null]);
  return fromRow(resource, { id, ...Object.fromEntries(fields), createdAt: created_at, updatedAt: updated_at });
}

let lastTime = { at: Number.NaN, text: '' };

/** Formatting takes a microsecond, and many times of a page are equal: records are imported together, and rarely changed. */
function formatTime(at: number): string {
  if (at !== lastTime.at) lastTime = { at, text: new Date(at).toISOString() };
  return lastTime.text;
}

/** Throws `FieldError` for an amount or currency that does not exist. */
export function toColumns({ fields }: Resource, values: Values): Row {
  const { currency } = values;
  if (typeof currency === 'string' && !isOrWasCurrency(currency)) throw notACurrency();
  const columns = Object.entries(fields).map(([name, field]) => [
    columnOf(name),
    toColumn(name, field, values[name] ?? null, currency),
  ]);
  return Object.fromEntries(columns);
}

export function notACurrency(): FieldError {
  return new FieldError('currency', 'must be an ISO 4217 code, for example GBP');
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
