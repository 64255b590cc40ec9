import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { listEntriesOfUser } from '../../src/audit/search.ts';
import { newId } from '../../src/lib/ids.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { type ExecutedStatement, watchStatements } from '../../src/storage/statement-log.ts';

const executed: ExecutedStatement[] = [];
const stopWatching = watchStatements((statement) => executed.push(statement));
after(stopWatching);
const storage = await openStorage('sqlite::memory:');
after(() => storage.close());
await migrate(storage);
const [user, other] = [newId(1), newId(1)];

/** One user did nearly everything, and something of it to the other. */
async function addEntries(count: number): Promise<void> {
  const names = { actor_name: 'x', actor_email: null, address: null, subject_name: 'x' };
  const kinds = { action: 'user.renamed', actor_kind: 'user', subject_kind: 'user' } as const;
  const rows = Array.from({ length: count }, (_, i) => ({
    ...{ ...names, ...kinds, id: newId(i + 1), at: i + 1, business_id: null, detail: '{}' },
    ...{ actor_id: other, person_id: other, subject_id: i % 100 === 0 ? user : newId(1) },
  }));
  await storage.durable.insertInto('audit_entries').values(rows).execute();
}

test('the entries of one user are read from a range of each of two indexes, however many others there are', async () => {
  for (let i = 0; i < 3; i += 1) await addEntries(1000);
  await sql`analyze`.execute(storage.durable);

  for (const [userId, found] of [
    [user, 30],
    [other, 1200],
  ] as const) {
    executed.length = 0;
    const entries = await listEntriesOfUser(storage.durable, { userId, limit: 1200 });
    const ids = entries.map(({ id }) => id);
    assert.equal(entries.length, found);
    assert.deepEqual(ids, ids.toSorted().toReversed());

    for (const statement of executed.splice(0)) {
      const plan = sql.raw<{ detail: string }>(`explain query plan ${statement.sql}`);
      const details = (await plan.execute(storage.durable)).rows.map(({ detail }) => detail);
      assert.match(details[0] ?? '', /^SEARCH audit_entries USING INDEX audit_entries_by_(?:person|subject) /);
      assert.ok(!details.some((detail) => detail.includes('TEMP B-TREE')), 'nothing is sorted');
    }
  }
});
