import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { newId } from '../../src/lib/ids.ts';
import { listRequests } from '../../src/request-log/log.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { type ExecutedStatement, watchStatements } from '../../src/storage/statement-log.ts';
import { type DeliveryStatus, listDeliveries } from '../../src/webhooks/delivery-log.ts';

const executed: ExecutedStatement[] = [];
const stopWatching = watchStatements((statement) => executed.push(statement));
after(stopWatching);
const storage = await openStorage('sqlite::memory:');
after(() => storage.close());
await migrate(storage);
const id = newId(1);
const RANGES = [{}, { after: id }, { before: id }, { since: 1 }, { after: id, since: 1 }, { before: id, since: 1 }];

/** The first step of the plan of the first statement. */
async function planOf(work: () => Promise<unknown>): Promise<string> {
  executed.length = 0;
  await work();
  const plan = `explain query plan ${executed[0]?.sql}`;
  const { rows } = await sql.raw<{ detail: string }>(plan).execute(storage.durable);
  assert.ok(
    rows.every(({ detail }) => !detail.includes('TEMP B-TREE')),
    'nothing is sorted',
  );
  return rows[0]?.detail.replace(/ \(.*/, '') ?? '';
}

const INDEXES: [status: DeliveryStatus | undefined, index: string][] = [
  [undefined, 'sqlite_autoindex_deliveries_2'],
  ['delivered', 'deliveries_delivered'],
  ['failed', 'deliveries_failed'],
  ['waiting', 'deliveries_in_order'],
];

for (const [status, index] of INDEXES) {
  test(`a page of ${status ?? 'all'} deliveries is a range of one index, in both directions`, async () => {
    for (const range of RANGES) {
      const plan = await planOf(() => listDeliveries(storage.durable, { endpointId: id, status, ...range, limit: 51 }));
      assert.equal(plan, `SEARCH deliveries USING INDEX ${index}`, JSON.stringify(range));
    }
  });
}

test('a page of requests is a range of the index of its app, in both directions', async () => {
  for (const range of RANGES) {
    const plan = await planOf(() =>
      listRequests(storage.durable, { appId: id, status: 'failed', ...range, limit: 51 }),
    );
    assert.equal(plan, 'SEARCH request USING INDEX logged_requests_by_app', JSON.stringify(range));
  }
});
