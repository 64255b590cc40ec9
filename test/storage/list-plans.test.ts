import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { listRecords, type Page } from '../../src/business/pages.ts';
import { columnOf } from '../../src/business/rows.ts';
import { RESOURCES } from '../../src/resources/all.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { type ExecutedStatement, watchStatements } from '../../src/storage/statement-log.ts';

const ID = '0190b9a1-7d4c-7c5e-9a51-3c2f6f0e8d10';

const executed: ExecutedStatement[] = [];
const stopWatching = watchStatements((statement) => executed.push(statement));
const storage = await openStorage('sqlite::memory:');
after(() => storage.close());
await migrate(storage);

/** Every combination of some of the names. */
function combinationsOf(names: readonly string[]): string[][] {
  const [first, ...rest] = names;
  if (first === undefined) return [[]];
  const others = combinationsOf(rest);
  return [...others, ...others.map((each) => [first, ...each])];
}

function pagesOf(filters: readonly string[], sorts: readonly string[]): Page[] {
  return combinationsOf(filters).flatMap((names) =>
    ['createdAt', 'updatedAt', ...sorts].flatMap((sort) =>
      [true, false].flatMap((isDescending) =>
        [undefined, { value: '2026-07-01', id: ID }].flatMap((cursor) =>
          [undefined, '2026-01-01'].map((since) => ({
            businessId: ID,
            filters: Object.fromEntries(names.map((name) => [name, ID])),
            sort,
            isDescending,
            since,
            until: since,
            after: cursor,
            limit: 51,
          })),
        ),
      ),
    ),
  );
}

const orderOf = (sort: string) => (sort === 'createdAt' ? ['id'] : [sort, 'id']);

for (const resource of RESOURCES) {
  test(`every page of ${resource.plural} is a range of one index, in the order of that index`, async () => {
    for (const page of pagesOf(resource.filters, resource.sorts)) {
      executed.length = 0;
      await listRecords(storage.durable, resource, page);
      const [statement] = executed;
      assert.ok(statement);
      const { rows } = await sql
        .raw<{ detail: string }>(`explain query plan ${statement.sql}`)
        .execute(storage.durable);
      const indexed = [...resource.filters.filter((name) => page.filters[name]), ...orderOf(page.sort)].map(columnOf);
      const index = `${resource.table}_by_${indexed.join('_')}`;
      assert.deepEqual(
        rows.map(({ detail }) => detail.replace(/ \(.*/, '')),
        [`SEARCH ${resource.table} USING INDEX ${index}`],
        JSON.stringify(page),
      );
    }
  });
}

test('the statements of the pages were watched', () => {
  stopWatching();
  assert.ok(executed.length > 0);
});
