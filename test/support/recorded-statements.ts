import { AsyncLocalStorage } from 'node:async_hooks';
import { after } from 'node:test';
import { newUserRow } from '../../src/accounts/new-users.ts';
import { insertUser, markUserDisabled } from '../../src/accounts/users.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { watchStatements } from '../../src/storage/statement-log.ts';

/** Opens a database in memory. `record` returns the statements that a function runs. */
export async function openRecordedStorage() {
  const statements = new AsyncLocalStorage<string[]>();
  after(watchStatements(({ sql }) => statements.getStore()?.push(sql)));
  const storage = await openStorage('sqlite::memory:');
  after(() => storage.close());
  await migrate(storage);

  return {
    storage,
    /** The address is `<name>@example.com`. */
    async addUser(name: string, isDisabled = false): Promise<void> {
      const user = { email: `${name}@example.com`, name, passwordHash: 'hash', isPlatformAdmin: false };
      const added = await insertUser(storage.durable, newUserRow(user, 1));
      if (isDisabled) await markUserDisabled(storage.durable, added?.id ?? '', 1);
    },
    async record(work: () => Promise<unknown>): Promise<string[]> {
      const recorded: string[] = [];
      await statements.run(recorded, work);
      return recorded;
    },
  };
}
