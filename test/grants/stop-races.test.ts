import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createFixtures } from '../support/fixtures.ts';
import { createAuthorizations, STOP_KINDS } from '../support/stop-races.ts';

const storage = await openStorage('sqlite::memory:');
after(() => storage.close());
await migrate(storage);
const newAuthorization = createAuthorizations(storage, await createFixtures(() => storage, Date.now));
type Authorization = Awaited<ReturnType<typeof newAuthorization>>;

const WAYS = [
  { way: 'an Allow', authorize: ({ allow }: Authorization) => allow() },
  {
    way: 'a silent authorization',
    authorize: ({ authorizeSilently }: Authorization) => authorizeSilently('transaction'),
  },
] as const;

for (const { what, stop, permits = [] } of STOP_KINDS) {
  test(`an Allow that is a moment ahead of ${what} leaves no active grant on SQLite`, async () => {
    const authorization = await newAuthorization();
    await authorization.authorizeSilently('transaction');
    const before = await authorization.listActive();

    const code = authorization.allow();
    await storage.transaction((tx) => stop(tx, authorization.connected));

    assert.ok(await code);
    assert.deepEqual([before.length, await authorization.listActive()], [1, []]);
  });

  for (const { way, authorize } of WAYS) {
    const isPermitted = permits.includes(way);
    test(`${way} that waits for ${what} ${isPermitted ? 'comes after it' : 'creates no active grant'} on SQLite`, async () => {
      const authorization = await newAuthorization();
      let code: Promise<string | undefined> | undefined;

      await storage.transaction(async (tx) => {
        await stop(tx, authorization.connected);
        code = authorize(authorization);
      });
      await code;

      assert.equal((await authorization.listActive()).length, isPermitted ? 1 : 0);
    });
  }
}
