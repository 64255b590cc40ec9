import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { listAppConnections } from '../../src/grants/app-connections.ts';
import { countConnectedUsers } from '../../src/grants/connected-users.ts';
import { rejectBeyondBounds } from '../../src/grants/external-connections.ts';
import { countAffected } from '../../src/grants/impact.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { type ExecutedStatement, watchStatements } from '../../src/storage/statement-log.ts';
import { addLiveGrants } from '../support/bulk-data.ts';
import { createFixtures } from '../support/fixtures.ts';

const NOW = Date.UTC(2030, 0, 1);
const executed: ExecutedStatement[] = [];
const stopWatching = watchStatements((statement) => executed.push(statement));
const storage = await openStorage('sqlite::memory:');
after(() => {
  stopWatching();
  return storage.close();
});
await migrate(storage);
const db = storage.durable;
const { acme, ada, addApp } = await createFixtures(
  () => storage,
  () => NOW,
);
const app = await addApp({ ownerBusinessId: acme.id, openToAnyBusiness: true });
const pair = { appId: app.id, businessId: acme.id };
const MANY = 2000;
await addLiveGrants(
  storage,
  Array.from({ length: MANY }, () => ({ ...pair, userId: ada.id })),
  NOW,
);
// With these statistics, an index looks useless: all grants are of one app.
await sql`analyze`.execute(db);

const COUNTS: [what: string, count: () => Promise<unknown>, statements: number][] = [
  ['an app', () => countAffected(db, { appId: app.id }, NOW, 1000), 2],
  ['a business', () => countAffected(db, { businessId: acme.id }, NOW, 1000), 2],
  ['a user', () => countAffected(db, { userId: ada.id }, NOW, 1000), 2],
  ['an app in a business', () => countConnectedUsers(db, pair, NOW, 1000), 2],
  ['the businesses of an app', () => listAppConnections(db, app, { search: '', after: undefined, limit: 26 }, NOW), 3],
];

for (const [what, count, statements] of COUNTS) {
  test(`counting ${what} reads a range of an index in its order, and stops`, async () => {
    executed.length = 0;

    await count();

    const ofGrants = executed.filter((statement) => statement.sql.includes('from "grants"'));
    for (const statement of ofGrants) {
      const { rows } = await sql.raw<{ detail: string }>(`explain query plan ${statement.sql}`).execute(db);
      const plan = rows.map(({ detail }) => detail);
      assert.match(plan.join('\n'), /^SEARCH grants USING INDEX grants_unrevoked\w* \(/);
      assert.ok(!plan.some((step) => step.includes('TEMP B-TREE')), plan.join('\n'));
      assert.match(statement.sql, /limit \?$/);
    }
    assert.equal(ofGrants.length, statements);
  });
}

test('counting connections with external apps reads those alone, and stops', async () => {
  executed.length = 0;

  await rejectBeyondBounds(db, { userId: ada.id, businessId: acme.id }, { user: 100, business: 1000 }, NOW);

  const counts = [...executed];
  for (const [index, statement] of counts.entries()) {
    const { rows } = await sql.raw<{ detail: string }>(`explain query plan ${statement.sql}`).execute(db);
    const name = ['consents_external_by_user', 'consents_external_by_business'][index];
    assert.match(rows[0]?.detail ?? '', new RegExp(`^SEARCH consents USING INDEX ${name} `));
    assert.match(statement.sql, /limit \?$/);
  }
  assert.equal(counts.length, 2);
});
