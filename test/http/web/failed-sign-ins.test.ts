import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR } from '../../../src/lib/clock.ts';
import { readActs, shownActs } from '../../support/acts.ts';
import { newWorld, type World } from '../../support/world.ts';

const failures = async (world: World) =>
  (await readActs(world)).filter(({ action }) => action === 'session.failed').map(({ detail }) => JSON.parse(detail));

const fail = (world: World, email = world.ada.email) => world.browse().signIn(email, 'not the password');

test('a failed sign-in is in the platform’s log and on the account page of the user, and in no log of a business', async () => {
  const world = await newWorld();
  const root = await world.signedIn(await world.addUser('Root', [], true));
  await fail(world);
  const ada = await world.signedIn();

  const [entry, ...more] = shownActs(await root.open('/platform/audit-log'));
  const account = await ada.open('/settings/account');

  assert.deepEqual(more, []);
  assert.deepEqual(
    [entry?.who, entry?.what, entry?.onWhat, entry?.more, entry?.business, entry?.where],
    ['Someone', 'Failed to sign in', 'Ada', 'With a password', '—', '127.0.0.1'],
  );
  assert.match(account.text, /Failed sign-ins.*127\.0\.0\.1\. With a password/s);
  assert.doesNotMatch((await root.open('/settings/account')).text, /Failed sign-ins/);
  assert.deepEqual(shownActs(await ada.open('/settings/audit-log')), []);
});

test('of many failures within an hour the first, the tenth and the hundredth are in the log [X9]', async () => {
  const world = await newWorld({ LIMIT_SIGN_IN_PER_ACCOUNT: '1000' });

  for (let i = 0; i < 12; i++) await fail(world);
  const within = await failures(world);
  world.wind(HOUR);
  await fail(world);

  const first = { with: 'password' };
  assert.deepEqual(within, [first, { ...first, attempts_within_an_hour: '10' }]);
  assert.deepEqual((await failures(world)).at(-1), first);
});

test('failures for accounts that do not exist leave no entry, and one counter for their network [X9] [S4]', async () => {
  const world = await newWorld();

  for (const email of ['nobody@example.com', 'no-one@example.com', 'not even an address']) {
    assert.equal((await fail(world, email)).status, 401);
  }

  assert.deepEqual(await readActs(world), []);
  assert.equal((await world.storage().durable.selectFrom('audit_repeats').select('key').execute()).length, 1);
});

test('a disabled user who knows the password fails as well, and it is recorded', async () => {
  const world = await newWorld();
  await world.storage().durable.updateTable('users').set({ disabled_at: world.clock() }).execute();

  const answer = await world.browse().signIn(world.ada.email, 'correct horse battery');

  assert.equal(answer.status, 401);
  assert.equal((await failures(world)).length, 1);
});
