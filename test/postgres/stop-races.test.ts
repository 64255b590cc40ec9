import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { untilLockWait } from '../support/lock-waits.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';
import { createAuthorizations, STOP_KINDS } from '../support/stop-races.ts';

const { storage, ...fixtures } = await startPostgresFixtures();
const newAuthorization = createAuthorizations(storage, fixtures);
type Authorization = Awaited<ReturnType<typeof newAuthorization>>;

/** While a transaction has this lock, a new grant waits amid the statement that inserts it: after every read and check. */
const GATE = 1;
await sql`create function wait_at_gate() returns trigger language plpgsql as
  ${sql.raw(`$$ begin perform pg_advisory_xact_lock_shared(${GATE}); return new; end $$`)}`.execute(storage.durable);
await sql`create trigger gate before insert on grants for each row execute function wait_at_gate()`.execute(
  storage.durable,
);

const WAYS: [string, (authorization: Authorization) => Promise<string | undefined>][] = [
  ['an Allow', ({ allow }) => allow()],
  ['a silent authorization by one statement', ({ authorizeSilently }) => authorizeSilently('statement')],
  ['a silent authorization by a transaction', ({ authorizeSilently }) => authorizeSilently('transaction')],
];

for (const { what, stop } of STOP_KINDS) {
  for (const [way, authorize] of WAYS) {
    test(`${way} amid the transaction of ${what} leaves no active grant`, async () => {
      const authorization = await newAuthorization();
      assert.ok(await authorize(authorization));
      assert.equal((await authorization.listActive()).length, 1);
      let code: Promise<string | undefined> | undefined;

      await storage.transaction(async (tx) => {
        await stop(tx, authorization.connected);
        code = authorize(authorization);
        await Promise.race([code, untilLockWait(storage)]);
      });
      await code;

      assert.deepEqual(await authorization.listActive(), []);
    });

    test(`${what} amid the commit of ${way} leaves no active grant`, async () => {
      const authorization = await newAuthorization();
      assert.ok(await authorize(authorization));
      assert.equal((await authorization.listActive()).length, 1);
      let both: Promise<unknown> | undefined;

      await storage.transaction(async (tx) => {
        await sql`select pg_advisory_xact_lock(${sql.lit(GATE)})`.execute(tx);
        const code = authorize(authorization);
        await untilLockWait(storage);
        const stopped = storage.transaction((other) => stop(other, authorization.connected));
        both = Promise.all([code, stopped]);
        await Promise.race([stopped, untilLockWait(storage, 2)]);
      });
      await both;

      assert.deepEqual(await authorization.listActive(), []);
    });
  }
}
