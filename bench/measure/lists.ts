// `npx node bench/measure/lists.ts [ROWS] [DATABASE_URL]`: how long a page of a list takes in a business with many records,
// beside a full page of one with a thousand, by turns: every filter, order and depth. Uses a temporary SQLite file unless a PostgreSQL
// database is named, which must be empty.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { sql } from 'kysely';
import { insertBusiness } from '../../src/accounts/businesses.ts';
import { listRecords, type Page } from '../../src/business/pages.ts';
import { columnOf } from '../../src/business/rows.ts';
import { contacts } from '../../src/resources/contacts.ts';
import { invoices } from '../../src/resources/invoices.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { quantile } from '../statistics.ts';
import { createFill, nthId, START } from './many-records.ts';

const [rows = '1000000', url] = process.argv.slice(2);
const [MANY, FEW, ROUNDS] = [Number(rows), 1000, 15];

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-lists-'));
const storage = await openStorage(url ?? `sqlite:${join(folder, 'lists.db')}`, 'migrating');
await migrate(storage);
const db = storage.durable;

const [small, large] = [
  await insertBusiness(db, { name: 'Small' }, START),
  await insertBusiness(db, { name: 'Large' }, START),
];
console.error(`Filling with ${MANY} contacts and invoices`);
const fill = createFill(db, url ? 'postgres' : 'sqlite');
for (const kind of ['contacts', 'invoices'] as const) {
  await fill(kind, { businessId: small.id, count: FEW, prefix: 10 });
  await fill(kind, { businessId: large.id, count: MANY, prefix: 20 });
}
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
function middleOf(sort: string, count: number, prefix: number): Page['after'] {
  return { id: nthId(prefix, Math.floor(count / 2)), value: sort === 'updatedAt' ? START + count / 2 : '2026-06-14' };
}

async function time(businessId: string, resource: Resource, page: Omit<Page, 'businessId'>): Promise<number> {
  const before = performance.now();
  await listRecords(db, resource, { ...page, businessId });
  return performance.now() - before;
}

const median = (times: number[]) => quantile(times, 0.5);
const found: { ratio: number; what: string }[] = [];
for (const resource of [contacts, invoices]) {
  for (const filters of filtersOf(resource)) {
    for (const sort of ['createdAt', 'updatedAt', ...resource.sorts]) {
      for (const isMiddle of [false, true]) {
        const page = { filters, sort, isDescending: true, since: undefined, until: undefined, limit: 51 };
        const times = { few: [] as number[], many: [] as number[] };
        for (let round = 0; round < ROUNDS; round++) {
          const at = (count: number, prefix: number) => (isMiddle ? middleOf(sort, count, prefix) : undefined);
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
