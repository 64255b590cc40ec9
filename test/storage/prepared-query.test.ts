import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { preparedQuery } from '../../src/storage/prepared-query.ts';

const storage = await openStorage('sqlite::memory:');
after(() => storage.close());
await migrate(storage);

interface Range {
  since: number;
  length: number;
}

const WRONG = {
  'adds to a value': ({ since }: Range) => since + 1,
  'compares a value': ({ since }: Range) => (since > 1 ? 1 : 0),
  'writes a value into a text': ({ since }: Range) => `${since}`,
  'writes a value as JSON': ({ since }: Range) => JSON.stringify({ since }),
};

for (const [what, compute] of Object.entries(WRONG)) {
  test(`a prepared query that ${what} fails when it is compiled, and names the value`, () => {
    const query = preparedQuery((db, range: Range) =>
      db
        .selectFrom('businesses')
        .select('id')
        .where('created_at', '>', compute(range) as number),
    );

    assert.throws(() => query(storage.durable, { since: 1, length: 1 }), /computes with its value "since"/);
  });
}

test('a prepared query gives each call its own values, alone and in a transaction', async () => {
  const add = preparedQuery((db, { id, at }: { id: string; at: number }) =>
    db.insertInto('businesses').values({ id, name: 'Acme', created_at: at }),
  );
  const find = preparedQuery((db, { at }: { at: number }) =>
    db.selectFrom('businesses').select('id').where('created_at', '=', at),
  );
  await add(storage.durable, { id: 'a', at: 1 });
  const within = await storage.transaction(async (db) => {
    await add(db, { id: 'b', at: 2 });
    return (await find(db, { at: 2 })).rows;
  });

  assert.deepEqual(within, [{ id: 'b' }]);
  assert.deepEqual((await find(storage.relaxed, { at: 1 })).rows, [{ id: 'a' }]);
});
