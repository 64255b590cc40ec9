// `npx node scripts/measure-lists.ts [ROWS] [DATABASE_URL]`: how long a page of a list takes in a business with many records,
// beside a full page of one with a thousand, by turns: every filter, order and depth. Uses a temporary SQLite file unless a PostgreSQL
// database is named, which must be empty.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { sql } from 'kysely';
import { insertBusiness } from '../src/accounts/businesses.ts';
import { listRecords, type Page } from '../src/business/pages.ts';
import { columnOf } from '../src/business/rows.ts';
import { contacts } from '../src/resources/contacts.ts';
import { invoices } from '../src/resources/invoices.ts';
import type { Resource } from '../src/resources/resource.ts';
import { migrate } from '../src/storage/migrate.ts';
import { openStorage } from '../src/storage/open.ts';

const [rows = '1000000', url] = process.argv.slice(2);
const [MANY, FEW, ROUNDS] = [Number(rows), 1000, 15];
const START = Date.UTC(2026, 0, 1);

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-lists-'));
const storage = await openStorage(url ?? `sqlite:${join(folder, 'lists.db')}`, 'migrating');
await migrate(storage);
const db = storage.durable;

/** Text of a number with leading zeros, in both dialects of SQL. */
const padded = (expression: string, length: number) =>
  url ? `lpad((${expression})::text, ${length}, '0')` : `printf('%0${length}d', ${expression})`;
const numbers = (count: number) =>
  url
    ? `generate_series(1, ${count}) as numbers(n)`
    : `(with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count}) select n from numbers) as numbers`;
const idOf = (place: number) =>
  url
    ? `('${String(place).padStart(8, '0')}-0000-7000-8000-' || ${padded('n', 12)})::uuid`
    : `'${String(place).padStart(8, '0')}-0000-7000-8000-' || ${padded('n', 12)}`;
/** One customer has half of the records, the others a thousandth each; one status is rare. */
const SHARED = (id: (n: string) => string) => id(`case when n % 2 = 0 then 0 else n % 1000 end`);
const uuidOf = (n: string) => `'00000000-0000-7000-9000-' || ${padded(n, 12)}`;
const status = (common: string, rare: string) => `case when n % 10000 = 7 then '${rare}' else '${common}' end`;

async function fill(businessId: string, count: number, place: number): Promise<void> {
  const business = url ? `'${businessId}'::uuid` : `'${businessId}'`;
  const company = url ? `(${SHARED(uuidOf)})::uuid` : SHARED(uuidOf);
  await sql
    .raw(`insert into contacts (id, business_id, name, status, company_id, version, created_at, updated_at)
      select ${idOf(place)}, ${business}, 'Contact', ${status('ACTIVE', 'ARCHIVED')}, ${company}, 1, ${START} + n, ${START} + n from ${numbers(count)}`)
    .execute(db);
  const day = `'2026-' || ${padded('1 + n % 12', 2)} || '-' || ${padded('1 + n % 28', 2)}`;
  await sql
    .raw(`insert into invoices (id, business_id, number, status, total, currency, customer_id, issue_date, due_date, subtotal, tax, amount_paid, amount_due, lines, payments, version, created_at, updated_at)
      select ${idOf(place + 1)}, ${business}, 'INV-' || n, ${status('SENT', 'VOID')}, ${url ? '100' : "'100'"}, 'GBP', ${SHARED(uuidOf)}, ${day}, ${day}, ${url ? '100, 0, 0, 100' : "'100', '0', '0', '100'"}, '[]', '[]', 1, ${START} + n, ${START} + n from ${numbers(count)}`)
    .execute(db);
}

const [small, large] = [
  await insertBusiness(db, { name: 'Small' }, START),
  await insertBusiness(db, { name: 'Large' }, START),
];
console.error(`Filling with ${MANY} contacts and invoices`);
await fill(small.id, FEW, 10);
await fill(large.id, MANY, 20);
if (url) await sql.raw('analyze').execute(db);

const VALUES: Record<string, string[]> = {
  'contact status': ['ACTIVE', 'ARCHIVED'],
  'contact companyId': ['00000000-0000-7000-9000-000000000000', '00000000-0000-7000-9000-000000000007'],
  'invoice status': ['SENT', 'VOID'],
  'invoice customerId': ['00000000-0000-7000-9000-000000000000', '00000000-0000-7000-9000-000000000007'],
};

function filtersOf({ name, filters }: Resource): Record<string, string>[] {
  return filters.reduce<Record<string, string>[]>(
    (all, filter) =>
      all.concat(
        all.flatMap((each) => (VALUES[`${name} ${filter}`] ?? []).map((value) => ({ ...each, [filter]: value }))),
      ),
    [{}],
  );
}

/** Half way through. */
function middleOf(sort: string, count: number, place: number): Page['after'] {
  const id = `${String(place).padStart(8, '0')}-0000-7000-8000-${String(Math.floor(count / 2)).padStart(12, '0')}`;
  return { id, value: sort === 'updatedAt' ? START + count / 2 : '2026-06-14' };
}

async function time(businessId: string, resource: Resource, page: Omit<Page, 'businessId'>): Promise<number> {
  const before = performance.now();
  await listRecords(db, resource, { ...page, businessId });
  return performance.now() - before;
}

const median = (times: number[]) => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
const found: { ratio: number; what: string }[] = [];
for (const [offset, resource] of [contacts, invoices].entries()) {
  for (const filters of filtersOf(resource)) {
    for (const sort of ['createdAt', 'updatedAt', ...resource.sorts]) {
      for (const isMiddle of [false, true]) {
        const page = { filters, sort, isDescending: true, since: undefined, until: undefined, limit: 51 };
        const times = { few: [] as number[], many: [] as number[] };
        for (let round = 0; round < ROUNDS; round++) {
          const at = (count: number, place: number) => (isMiddle ? middleOf(sort, count, place + offset) : undefined);
          times.few.push(await time(small.id, resource, { ...page, filters: {}, after: at(FEW, 10) }));
          times.many.push(await time(large.id, resource, { ...page, after: at(MANY, 20) }));
        }
        const ratio = median(times.many) / median(times.few);
        const what = `${resource.plural} ${JSON.stringify(filters)} by ${columnOf(sort)}${isMiddle ? ', half way' : ''}: ${median(times.few).toFixed(2)} ms of ${FEW}, ${median(times.many).toFixed(2)} ms of ${MANY}`;
        found.push({ ratio, what });
      }
    }
  }
}
console.log(`${found.length} kinds of pages. The slowest beside those of ${FEW}:`);
for (const { ratio, what } of found.toSorted((a, b) => b.ratio - a.ratio).slice(0, 5)) {
  console.log(`${ratio.toFixed(2)} times as long: ${what}`);
}
await storage.close();
rmSync(folder, { recursive: true, force: true });
