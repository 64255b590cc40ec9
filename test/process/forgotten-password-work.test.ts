import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mailPasswordLink } from '../../src/accounts/password-links.ts';
import { TEST_MAILER } from '../support/mailer.ts';
import { openRecordedStorage } from '../support/recorded-statements.ts';

const { storage, addUser, record } = await openRecordedStorage();
const device = { browser: 'Firefox', address: '203.0.113.7' };

test('a request for a new password runs the same statements for a known, a disabled and an unknown address [E6]', async () => {
  await addUser('known');
  await addUser('gone', true);
  const run = (email: string) =>
    record(() => mailPasswordLink(storage.durable, TEST_MAILER, { email, device, language: 'en' }, 2));

  const [known, gone, unknown] = [
    await run('known@example.com'),
    await run('gone@example.com'),
    await run('unknown@example.com'),
  ];

  assert.ok(known.length >= 4, String(known));
  assert.deepEqual(gone, known);
  assert.deepEqual(unknown, known);
});
