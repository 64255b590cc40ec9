import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestAddressLink } from '../../src/accounts/addresses.ts';
import { findCredentialsByEmail, userActor } from '../../src/accounts/users.ts';
import { TEST_MAILER } from '../support/mailer.ts';
import { openRecordedStorage } from '../support/recorded-statements.ts';

const { storage, addUser, record } = await openRecordedStorage();
const device = { browser: 'Firefox', address: '203.0.113.7' };

test('a change of address runs the same statements for a free address, and for one of an account or a disabled one [E6]', async () => {
  await addUser('asking');
  await addUser('known');
  await addUser('gone', true);
  const current = await findCredentialsByEmail(storage.durable, 'asking@example.com');
  assert.ok(current);
  const run = async (email: string) => {
    const actor = userActor(current.user, device.address);
    return record(() =>
      requestAddressLink(actor, storage.durable, TEST_MAILER, { current, email, device, language: 'en' }, 2),
    );
  };
  // The first one prepares statements that later ones reuse.
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
