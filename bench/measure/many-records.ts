import { sql } from 'kysely';
import type { Database } from '../../src/storage/storage.ts';

export const START = Date.UTC(2026, 0, 1);

interface Filled {
  businessId: string;
  count: number;
  /** The number of the first record, 1 if left out. */
  first?: number;
  /** The first digits of the ids: each business needs its own. */
  prefix: number;
}

/** The id of the nth record. */
export const nthId = (prefix: number, n: number) => `${beginOf(prefix)}${String(n).padStart(12, '0')}`;

const beginOf = (prefix: number) => `${String(prefix).padStart(8, '0')}-0000-7000-8000-`;

/** Inserts many records by one statement each, for measurements. One customer has half of them, and one status is rare. */
export function createFill(db: Database, engine: 'sqlite' | 'postgres') {
  const isPostgres = engine === 'postgres';
  const padded = (expression: string, length: number) =>
    isPostgres ? `lpad((${expression})::text, ${length}, '0')` : `printf('%0${length}d', ${expression})`;
  const toUuid = (text: string) => (isPostgres ? `(${text})::uuid` : text);
  const amountOf = (minor: number) => (isPostgres ? `${minor}` : `'${minor}'`);
  const numbers = (first: number, last: number) =>
    isPostgres
      ? `generate_series(${first}, ${last}) as numbers(n)`
      : `(with recursive numbers(n) as (select ${first} union all select n + 1 from numbers where n < ${last}) select n from numbers) as numbers`;
  const shared = `'00000000-0000-7000-9000-' || ${padded('case when n % 2 = 0 then 0 else n % 1000 end', 12)}`;
  const status = (common: string, rare: string) => `case when n % 10000 = 7 then '${rare}' else '${common}' end`;
  const day = `'2026-' || ${padded('1 + n % 12', 2)} || '-' || ${padded('1 + n % 28', 2)}`;
  const columns: Record<string, Record<string, string>> = {
    contacts: { name: "'Contact'", status: status('ACTIVE', 'ARCHIVED'), company_id: toUuid(shared) },
    invoices: {
      number: "'INV-' || n",
      status: status('SENT', 'VOID'),
      currency: "'GBP'",
      customer_id: shared,
      issue_date: day,
      due_date: day,
      total: amountOf(100),
      subtotal: amountOf(100),
      tax: amountOf(0),
      amount_paid: amountOf(0),
      amount_due: amountOf(100),
      lines: "'[]'",
      payments: "'[]'",
    },
    deals: { title: "'Deal'", stage: status('LEAD', 'WON'), amount: amountOf(100), currency: "'GBP'" },
  };
  return async (table: 'contacts' | 'invoices' | 'deals', filled: Filled): Promise<void> => {
    const { businessId, count, prefix, first = 1 } = filled;
    const values = {
      id: toUuid(`'${beginOf(prefix)}' || ${padded('n', 12)}`),
      business_id: toUuid(`'${businessId}'`),
      ...columns[table],
      version: '1',
      created_at: `${START} + n`,
      updated_at: `${START} + n`,
    };
    const insert = `insert into ${table} (${Object.keys(values).join(', ')})`;
    await sql
      .raw(`${insert} select ${Object.values(values).join(', ')} from ${numbers(first, first + count - 1)}`)
      .execute(db);
  };
}
