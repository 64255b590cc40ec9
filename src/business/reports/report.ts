import { type TSchema, Type } from 'typebox';
import { type RawQuery, readText, valueNotAllowed } from '../../http/paging.ts';
import { AMOUNT_PATTERN } from '../../resources/resource.ts';
import { sumAmounts } from '../../storage/amounts.ts';
import type { Database } from '../../storage/storage.ts';

/** Neither drafts nor void invoices count. */
const ISSUED = ['SENT', 'PAID', 'OVERDUE'];
const PAID_ORDERS = ['PAID', 'FULFILLED'];
export const COUNTED_EXPENSES = ['APPROVED', 'REIMBURSED'];

/** So that one report reads at most ten years. */
const MAX_MONTHS = 120;

export const AMOUNT = (description: string) =>
  Type.String({ pattern: AMOUNT_PATTERN, description, examples: ['1234.50'] });
export const CURRENCY = Type.String({
  description: 'ISO 4217. Amounts of different currencies are never added up.',
  examples: ['GBP'],
});
export const DATE = (description: string) => Type.String({ format: 'date', description, examples: ['2026-07-31'] });

/** Exact sums in minor units, by currency and by what is counted. */
export type Sums = Map<string, Record<string, bigint>>;

export function addTo(sums: Sums, currency: string, name: string, minor: string | bigint): void {
  const known = sums.get(currency) ?? {};
  sums.set(currency, { ...known, [name]: (known[name] ?? 0n) + BigInt(minor) });
}

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

export function readDay(query: RawQuery<Record<string, unknown>>, name: string, otherwise: string): string {
  const text = readText(query, name) ?? otherwise;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text);
  if (!isDay) throw valueNotAllowed(`${name} is a date, such as 2026-07-31.`);
  return text;
}

/** The months of a period, each as its first and last day within it. Each is read by a query of its own. */
export function monthsOf(from: string, to: string): { month: string; from: string; to: string }[] {
  const months = [];
  for (let start = from; start <= to; ) {
    const [year = 0, month = 1] = start.split('-').map(Number);
    const last = new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10);
    months.push({ month: start.slice(0, 7), from: start, to: last < to ? last : to });
    if (months.length > MAX_MONTHS) throw valueNotAllowed('A report covers at most ten years: from and to.');
    start = new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10);
  }
  return months;
}

interface Period {
  businessId: string;
  from: string;
  to: string;
}

export function sumInvoices(db: Database, { businessId, from, to }: Period) {
  return db
    .selectFrom('invoices')
    .select([
      'currency',
      sumAmounts('subtotal').as('subtotal'),
      sumAmounts('tax').as('tax'),
      sumAmounts('amount_paid').as('paid'),
    ])
    .where('business_id', '=', businessId)
    .where('issue_date', '>=', from)
    .where('issue_date', '<=', to)
    .where('status', 'in', ISSUED)
    .groupBy('currency')
    .execute();
}

export function sumOrders(db: Database, { businessId, from, to }: Period) {
  return db
    .selectFrom('orders')
    .select(['currency', sumAmounts('total').as('total')])
    .where('business_id', '=', businessId)
    .where('ordered_on', '>=', from)
    .where('ordered_on', '<=', to)
    .where('status', 'in', PAID_ORDERS)
    .groupBy('currency')
    .execute();
}

export function sumExpenses(db: Database, { businessId, from, to }: Period, statuses: string[]) {
  return db
    .selectFrom('expenses')
    .select(['currency', 'status', sumAmounts('amount').as('amount')])
    .where('business_id', '=', businessId)
    .where('spent_on', '>=', from)
    .where('spent_on', '<=', to)
    .where('status', 'in', statuses)
    .groupBy(['currency', 'status'])
    .execute();
}
