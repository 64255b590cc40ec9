import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { after, test } from 'node:test';
import { mailPasswordLink } from '../../src/accounts/password-links.ts';
import { insertUser, markUserDisabled, newUserRow } from '../../src/accounts/users.ts';
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

test('a request for a new password runs the same statements for a known, a disabled and an unknown address [E6]', async () => {
  for (const name of ['known', 'gone']) {
    const user = { email: `${name}@example.com`, name, passwordHash: 'hash', isPlatformAdmin: false };
    const added = await insertUser(storage.durable, newUserRow(user, 1));
    if (name === 'gone') await markUserDisabled(storage.durable, added?.id ?? '', 1);
  }
  const run = async (email: string) => {
    const seen: string[] = [];
    await statements.run(seen, () => mailPasswordLink(storage.durable, mailer, { email, device }, 2));
    return seen;
  };

  const [known, gone, unknown] = [
    await run('known@example.com'),
    await run('gone@example.com'),
    await run('unknown@example.com'),
  ];

  assert.ok(known.length >= 4, String(known));
  assert.deepEqual(gone, known);
  assert.deepEqual(unknown, known);
});
