import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { userActor } from '../../src/accounts/users.ts';
import { removeMember } from '../../src/grants/member-changes.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { watchStatements } from '../../src/storage/statement-log.ts';
import { connectApps } from '../support/connected-apps.ts';
import { createFixtures } from '../support/fixtures.ts';

const NOW = Date.UTC(2030, 0, 1);
const seen: string[] = [];
after(watchStatements(({ sql }) => seen.push(sql)));
const storage = await openStorage('sqlite::memory:');
after(() => storage.close());
await migrate(storage);
const { acme, ada, addUser } = await createFixtures(
  () => storage,
  () => NOW,
);

/** The statements that read connections while an owner removes a member who has connected so many apps. */
async function removeWith(count: number, name = `Member of ${count}`): Promise<string[]> {
  const member = await addUser(name, [[acme, 'member']]);
  await connectApps(storage, { businessId: acme.id, userId: member.id, count }, NOW);
  const removal = { userId: member.id, businessId: acme.id, choices: [] };
  seen.length = 0;

  assert.equal(await removeMember(userActor(ada, null), storage.durable, removal, NOW), true);

  return seen.filter((sql) => sql.includes('"allowed"'));
}

test('the removal of a member reads no connection that only ends with it, however many there are', async () => {
  const withNone = await removeWith(0);
  const withMany = await removeWith(25);

  assert.ok(withNone.length > 0);
  assert.deepEqual(withMany, withNone);
});

test('what a member connected for the business is found in an index of its own', async () => {
  const [finding = ''] = await removeWith(0, 'Another member');

  const { rows } = await sql.raw<{ detail: string }>(`explain query plan ${finding}`).execute(storage.durable);

  assert.match(rows[0]?.detail ?? '', /^SEARCH grants USING INDEX grants_for_business \(business_id=\? AND user_id=\?/);
});
