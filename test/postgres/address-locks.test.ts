import assert from 'node:assert/strict';
import { test } from 'node:test';
import { confirmAddress } from '../../src/accounts/addresses.ts';
import { bindingOf, putMailLink } from '../../src/accounts/mail-links.ts';
import { insertSession } from '../../src/accounts/sessions.ts';
import { findCredentials, findUser, type User, userActor } from '../../src/accounts/users.ts';
import { FormError } from '../../src/lib/errors.ts';
import type { Database } from '../../src/storage/storage.ts';
import { untilLockWait } from '../support/lock-waits.ts';
import { TEST_MAILER } from '../support/mailer.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';

const { storage, addUser } = await startPostgresFixtures();

/** A user with a link for this address, which the returned function confirms. */
async function prepare(name: string, email: string) {
  const user = await addUser(name);
  const credentials = await findCredentials(storage.durable, user.id);
  assert.ok(credentials);
  const link = { subjectId: user.id, purpose: 'address', boundTo: bindingOf(credentials), email } as const;
  const token = await storage.transaction((tx) => putMailLink(tx, link, Date.now()));
  const session = await insertSession(storage.durable, { user, browser: '', address: '127.0.0.1' }, Date.now());
  const actor = userActor(user, '127.0.0.1');
  const confirmed = { session, token, language: 'en' };
  return { user, confirm: (db: Database) => confirmAddress(actor, db, TEST_MAILER, confirmed, Date.now()) };
}

const emailOf = async ({ id }: User) => (await findUser(storage.durable, id))?.email;

test('of two accounts that confirm one new address at the same time, the second gets an error that it is taken [E3]', async () => {
  const [first, second] = [await prepare('One', 'new@example.org'), await prepare('Two', 'new@example.org')];

  let late: Promise<unknown> | undefined;
  await storage.transaction(async (tx) => {
    assert.equal(await first.confirm(tx), true);
    late = second.confirm(storage.durable).catch((error: unknown) => error);
    await untilLockWait(storage);
  });
  const rejection = await late;

  assert.ok(rejection instanceof FormError, String(rejection));
  assert.match(rejection.message, /Another account now has this address/);
  assert.deepEqual([await emailOf(first.user), await emailOf(second.user)], ['new@example.org', second.user.email]);
});
