import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addUser } from '../../../src/accounts/joining.ts';
import {
  deleteMembership,
  findCurrentMembership,
  insertMembership,
  updateRole,
} from '../../../src/accounts/memberships.ts';
import { authenticateUser, hashNewPassword } from '../../../src/accounts/passwords.ts';
import { findUserByEmail, markSignedIn, setPasswordHash } from '../../../src/accounts/users.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { FormError } from '../../../src/lib/errors.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const db = server.storage().durable;
const add = (email: string, name = 'X') =>
  addUser(OPERATOR, db, { email, name, password: PASSWORD, isPlatformAdmin: false }, server.clock());

function errorWith(field: string, sentence: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof FormError, String(error));
    assert.equal(error.field, field);
    assert.match(error.message, sentence);
    return true;
  };
}

test('an email address belongs to one user, in any case, spacing or Unicode form', async () => {
  await add('Ren\u00e9@Example.com');

  for (const email of ['ren\u00e9@example.com', ' REN\u00c9@EXAMPLE.COM ', 'rene\u0301@example.com']) {
    await assert.rejects(add(email), errorWith('email', /already/));
    assert.ok(await findUserByEmail(db, email));
  }
});

for (const email of [
  '',
  'ada',
  '@example.com',
  'ada@',
  'a b@example.com',
  'a@b@c',
  'a\u0000@b.c',
  `${'a'.repeat(251)}@b.c`,
]) {
  test(`${JSON.stringify(email.slice(0, 20))} is not an email address`, async () => {
    await assert.rejects(add(email), errorWith('email', /Enter an email address/));
  });
}

for (const name of ['', '   ', 'x'.repeat(81), 'line\nbreak', 'turned\u202eround', 'zero\u200bwidth', 'nul\u0000']) {
  test(`${JSON.stringify(name.slice(0, 20))} is not accepted as the name of a user or a business`, async () => {
    await assert.rejects(add('named@example.com', name), errorWith('name', /./));
    await assert.rejects(server.addBusiness(name), errorWith('name', /./));
  });
}

test('a user can be a member of a business only once', async () => {
  const again = insertMembership(
    db,
    { userId: server.ada.id, businessId: server.acme.id, role: 'member' },
    server.clock(),
  );

  await assert.rejects(again, errorWith('user', /a member of the business already/));
});

test('a role is owner, admin or member', async () => {
  await assert.rejects(
    updateRole(db, server.ada.id, server.acme.id, 'king'),
    errorWith('role', /owner, admin, member/),
  );
});

test('the current business is the first by name until one is chosen', async () => {
  const zeta = await server.addBusiness('Zeta');
  const alpha = await server.addBusiness('Alpha');
  const bob = await server.addUser('Bob', [
    [zeta, 'member'],
    [alpha, 'member'],
  ]);

  const first = await findCurrentMembership(db, bob);
  const chosen = await findCurrentMembership(db, { ...bob, currentBusinessId: zeta.id });
  await deleteMembership(db, bob.id, zeta.id);
  const left = await findCurrentMembership(db, { ...bob, currentBusinessId: zeta.id });

  assert.deepEqual(
    [first, chosen, left].map((membership) => membership?.businessName),
    ['Alpha', 'Zeta', 'Alpha'],
  );
});

test('the grants of a removed member end at once, and a new membership does not restore them [P10]', async () => {
  const cy = await server.addUser('Cy', [[server.acme, 'member']]);
  const { access_token } = await server.connect({}, await server.signedIn(cy));

  const before = await server.listInvoices(access_token);
  await deleteMembership(db, cy.id, server.acme.id);
  const removed = await server.listInvoices(access_token);
  server.advanceClock(1);
  await server.addMember(cy, server.acme);
  const again = await server.listInvoices(access_token);

  assert.deepEqual([before.status, removed.status, again.status], [200, 401, 401]);
});

test('a password that is changed while it is being checked does not sign in', async () => {
  await add('race@example.com');
  const authenticated = await authenticateUser(db, 'race@example.com', PASSWORD);
  assert.ok(authenticated);
  const { user, passwordHash } = authenticated;

  await setPasswordHash(db, user.id, await hashNewPassword(user, 'quite another one'));

  assert.equal(await markSignedIn(db, { user, passwordHash }, server.clock()), false);
});

for (const name of [
  '\u3164',
  '\u2800',
  '\u00ad',
  'a\u061cb',
  'a\u202eb',
  '\u200d',
  'a\u0000b',
  'a\nb',
  '   ',
  'Led\u200dger',
  `Z${'\u0301'.repeat(6)}`,
]) {
  test(`${JSON.stringify(name)} is rejected as a misleading name`, async () => {
    await assert.rejects(add('named@example.com', name), errorWith('name', /Enter a name|visible|read/));
  });
}

test('names in any script are accepted, and so are composed emoji', async () => {
  for (const [i, name] of ['Zoë', '深圳', 'नमस्ते', '👩‍💻 Tools', 'O’Neil & Sons'].entries()) {
    assert.equal((await add(`script${i}@example.com`, name)).name, name);
  }
});
