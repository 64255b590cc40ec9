import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { after, test } from 'node:test';
import { requestAddressLink } from '../../src/accounts/addresses.ts';
import {
  findCredentialsByEmail,
  insertUser,
  markUserDisabled,
  newUserRow,
  userActor,
} from '../../src/accounts/users.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import type { Mailer } from '../../src/mail/mails.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { watchStatements } from '../../src/storage/statement-log.ts';

const statements = new AsyncLocalStorage<string[]>();
after(watchStatements(({ sql }) => statements.getStore()?.push(sql)));
const storage = await openStorage('sqlite::memory:');
after(() => storage.close());
await migrate(storage);

const keys = createKeyring(['the-key-that-the-tests-sign-their-tokens-with']);
const mailer: Mailer = { isOn: true, keys, origin: 'https://a.example', platformName: 'Gatehouse', count() {} };
const device = { browser: 'Firefox', address: '203.0.113.7' };

test('a change of address runs the same statements for a free address, and for one of an account or a disabled one [E6]', async () => {
  for (const name of ['asking', 'known', 'gone']) {
    const user = { email: `${name}@example.com`, name, passwordHash: 'hash', isPlatformAdmin: false };
    const added = await insertUser(storage.durable, newUserRow(user, 1));
    if (name === 'gone') await markUserDisabled(storage.durable, added?.id ?? '', 1);
  }
  const current = await findCredentialsByEmail(storage.durable, 'asking@example.com');
  assert.ok(current);
  const run = async (email: string) => {
    const seen: string[] = [];
    const actor = userActor(current.user, device.address);
    await statements.run(seen, () => requestAddressLink(actor, storage.durable, mailer, { current, email, device }, 2));
    return seen;
  };
  // The first one prepares what later ones reuse.
  await run('first@example.com');

  const [free, known, gone] = [
    await run('free@example.com'),
    await run('known@example.com'),
    await run('gone@example.com'),
  ];

  assert.ok(free.length >= 6, String(free));
  assert.deepEqual(known, free);
  assert.deepEqual(gone, free);
});
