import { type TSchema, Type } from 'typebox';
import { type RawQuery, readText, valueNotAllowed } from '../../http/paging.ts';
import { isDay } from '../../lib/clock.ts';
import { AMOUNT_PATTERN } from '../../resources/resource.ts';
import type { Database } from '../../storage/storage.ts';
import { readBatches } from '../batches.ts';
import type { Row } from '../rows.ts';

/** So that one report reads at most ten years. */
const MAX_YEARS = 10;
/** JavaScript reads a year below 100 as one of the 20th century. */
const [FIRST_YEAR, LAST_YEAR] = [1900, 2999];

export const AMOUNT = (description: string) =>
  Type.String({ pattern: AMOUNT_PATTERN, description, examples: ['1234.50'] });
export const CURRENCY = Type.String({
  description: 'ISO 4217. Amounts of different currencies are never added up.',
  examples: ['GBP'],
});
export const DATE = (description: string) => Type.String({ format: 'date', description, examples: ['2026-07-31'] });

/** Exact sums in minor units, by currency and by what is counted. */
export type Sums = Map<string, Record<string, bigint>>;

export function addTo(sums: Sums, currency: string, name: string, minor: bigint): void {
  const known = sums.get(currency) ?? {};
  known[name] = (known[name] ?? 0n) + minor;
  sums.set(currency, known);
}

export const toMinor = (amount: Row[string] | undefined) => BigInt(amount ?? 0);

export const byCurrency = (sums: Sums) => [...sums].sort(([a], [b]) => (a < b ? -1 : 1));

export interface Report {
  name: string;
  title: string;
  summary: string;
  description: string;
  query: Record<string, TSchema>;
  schema: TSchema;
  example: unknown;
  compute(db: Database, businessId: string, query: RawQuery<Record<string, unknown>>, today: string): Promise<unknown>;
}

/** The first day of the ten years that end on a day. */
export function earliestDay(asOf: string): string {
  return `${String(Number(asOf.slice(0, 4)) - MAX_YEARS + 1).padStart(4, '0')}${asOf.slice(4, 7)}-01`;
}

export function readDay(query: RawQuery<Record<string, unknown>>, name: string, fallback: string): string {
  const text = readText(query, name) ?? fallback;
  const year = Number(text.slice(0, 4));
  if (!isDay(text) || year < FIRST_YEAR || year > LAST_YEAR) {
    throw valueNotAllowed(`${name} must be a date from ${FIRST_YEAR} to ${LAST_YEAR}, such as 2026-07-31.`);
  }
  return text;
}

/** The months of a period, such as 2026-07. */
export function monthsOf(from: string, to: string): string[] {
  const months: string[] = [];
  for (let start = from; start <= to; ) {
    const [year = 0, month = 1] = start.split('-').map(Number);
    months.push(start.slice(0, 7));
    if (months.length > MAX_YEARS * 12) throw valueNotAllowed('A report covers at most ten years: from and to.');
    start = new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10);
  }
  return months;
}

interface Period {
  businessId: string;
  from: string;
  to: string;
}

interface Source {
  table: string;
  /** The column with the day that decides in which period a record counts. It cannot change once the record counts. */
  day: string;
  columns: string[];
  statuses: string[];
}

export const INVOICES: Source = {
  table: 'invoices',
  day: 'issue_date',
  columns: ['currency', 'subtotal', 'tax', 'amount_paid'],
  /** Neither drafts nor void invoices count. */
  statuses: ['SENT', 'PAID', 'OVERDUE'],
};
export const ORDERS: Source = {
  table: 'orders',
  day: 'ordered_on',
  columns: ['currency', 'total'],
  statuses: ['PAID', 'FULFILLED'],
};
export const EXPENSES: Source = {
  table: 'expenses',
  day: 'spent_on',
  columns: ['currency', 'amount'],
  statuses: ['APPROVED', 'REIMBURSED'],
};

/**
 * The records of a period that count, in batches. The status is not part of the query: where few records have it, a batch
 * would read many.
 */
export async function* readCounted(db: Database, source: Source, { businessId, from, to }: Period) {
  const { table, day, columns, statuses } = source;
  const days = { column: day, from, to };
  for await (const rows of readBatches(db, { table, businessId, columns: [...columns, 'status'], days })) {
    yield rows.filter(({ status }) => statuses.includes(String(status)));
  }
}
