import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR } from '../../../src/lib/clock.ts';
import { fetchAuditExport, parseAuditTable } from '../../support/audit-entries.ts';
import type { Browser } from '../../support/browser.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const PASSWORD = 'correct horse battery';
const SIGN_INS = 'kind=session';

const logOf = ({ id }: { id: string }) => `/businesses/${id}/audit-log`;

async function shown(owner: Browser, business: { id: string }, query = SIGN_INS): Promise<string[]> {
  const rows = parseAuditTable(await owner.open(`${logOf(business)}?${query}`));
  return rows.map(({ who, what, onWhat }) => `${who}: ${what}: ${onWhat}`);
}

/** Mia belongs to Acme and Bolt, Nils only to Acme. Neither has signed in yet. */
async function startWithMembers() {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '1000' });
  const bolt = await server.addBusiness('Bolt');
  const mia = await server.addUser('Mia', [
    [server.acme, 'member'],
    [bolt, 'member'],
  ]);
  const nils = await server.addUser('Nils', [[server.acme, 'admin']]);
  const bob = await server.signedIn(await server.addUser('Bob', [[bolt, 'owner']]));
  return { server, bolt, mia, nils, bob, ada: await server.signedIn() };
}

const fail = (server: TestServer, email: string) => server.browse().signIn(email, 'not the password');
const signIn = (server: TestServer, email: string) => server.browse().signIn(email, PASSWORD);

test('owners see who signed in and who failed to, in each business of the person and in no other [D5]', async () => {
  const { server, bolt, mia, nils, bob, ada } = await startWithMembers();
  await fail(server, mia.email);
  await signIn(server, mia.email);
  await signIn(server, nils.email);

  const ofMia = ['Mia: Signed in: Unknown browser', 'Someone: Failed to sign in: Mia'];
  assert.deepEqual(await shown(ada, server.acme), ['Nils: Signed in: Unknown browser', ...ofMia]);
  assert.deepEqual(await shown(bob, bolt), ofMia);
  assert.doesNotMatch((await ada.open(logOf(server.acme))).text, /Bolt/);
  assert.doesNotMatch(await (await ada.fetch(`${logOf(server.acme)}.csv`)).text(), /Bolt/);
  assert.equal((await bob.open(logOf(server.acme))).status, 404);
  const admin = await server.signedIn(nils);
  for (const address of [logOf(server.acme), `${logOf(server.acme)}.csv`]) {
    assert.equal((await admin.open(address)).status, 404, 'the log is for owners');
  }
});

test('the log of a business says which of many sign-ins it lists', async () => {
  const { server, ada } = await startWithMembers();

  assert.match(
    (await ada.open(logOf(server.acme))).text,
    /Of the sign-ins of a member from one network within an hour, it lists the 1st, /,
  );
});

test('the filter by person and the export contain the sign-ins and the failed ones', async () => {
  const { server, mia, nils, ada } = await startWithMembers();
  await fail(server, mia.email);
  await signIn(server, mia.email);
  await signIn(server, nils.email);
  const query = `by=${encodeURIComponent(mia.email)}`;

  const exported = await fetchAuditExport(ada, `${logOf(server.acme)}.csv?${query}`);
  const page = await ada.open(`${logOf(server.acme)}?${query}`);

  assert.deepEqual(await shown(ada, server.acme, query), [
    'Mia: Signed in: Unknown browser',
    'Someone: Failed to sign in: Mia',
  ]);
  assert.match(page.text, /Only what Mia did, and failed sign-ins to their account\./);
  assert.deepEqual(
    exported.map(({ action, actor_id, address, business }) => [action, actor_id, address, business]),
    [
      ['session.member_started', mia.id, '127.0.0.1', 'Acme'],
      ['session.member_failed', '', '127.0.0.1', 'Acme'],
    ],
  );
});

test('owners see sign-ins only from the time a person joined until they leave [D5]', async () => {
  const { server, bolt, nils, bob, ada } = await startWithMembers();
  const memberships = () => server.storage().durable;
  await signIn(server, nils.email);
  const row = { user_id: nils.id, business_id: bolt.id, role: 'member' as const, created_at: server.clock() };
  await memberships().insertInto('memberships').values(row).execute();
  assert.deepEqual(await shown(bob, bolt), [], 'before Nils joined');

  await signIn(server, nils.email);
  const joined = await shown(bob, bolt);
  await memberships().deleteFrom('memberships').where('user_id', '=', nils.id).execute();
  server.advanceClock(HOUR);
  await signIn(server, nils.email);
  await fail(server, nils.email);

  assert.deepEqual(joined, ['Nils: Signed in: Unknown browser']);
  assert.deepEqual([await shown(bob, bolt), await shown(ada, server.acme)], [joined, joined]);
});

test('of many sign-ins of a member within an hour, the first and the tenth are in the log of the business [X9]', async () => {
  const { server, mia, ada } = await startWithMembers();
  for (let i = 0; i < 12; i++) await signIn(server, mia.email);

  const rows = parseAuditTable(await ada.open(`${logOf(server.acme)}?${SIGN_INS}`));

  assert.deepEqual(
    rows.map(({ more }) => more),
    ['With a password; times within an hour: 10', 'With a password'],
  );
});

test('the log of the platform and the data of the user contain each sign-in once', async () => {
  const { server, mia } = await startWithMembers();
  const root = await server.signedIn(await server.addUser('Root', [], true));
  await fail(server, mia.email);
  await signIn(server, mia.email);

  const rows = parseAuditTable(await root.open('/platform/audit-log'));
  const account = await (await server.signedIn(mia)).open('/settings/account');

  assert.deepEqual(
    rows.map(({ who, what, business }) => [who, what, business]),
    [
      ['Mia', 'Signed in', '—'],
      ['Someone', 'Failed to sign in', '—'],
    ],
  );
  assert.equal(account.text.match(/127\.0\.0\.1\. With a password/g)?.length, 1);
  assert.match(account.text, /The owners of your businesses see when and from where you sign in\./);
});
