import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR } from '../../../src/lib/clock.ts';
import { readAuditEntries } from '../../support/audit-entries.ts';
import { createClient } from '../../support/client.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const root = await server.addUser('Root', [], true);
const other = await server.addBusiness('Umbra');
const OWN = '/settings/end-connections';

/** A user with two apps in two businesses. */
async function connectedUser(name: string) {
  const user = await server.addUser(name, [
    [server.acme, 'member'],
    [other, 'member'],
  ]);
  const browser = await server.signedIn(user);
  const app = await server.addApp({ name: 'First', ownerBusinessId: server.acme.id, openToAnyBusiness: true });
  const second = await server.addApp({ name: 'Second', ownerBusinessId: other.id });
  const client = createClient({ ...server, user, app, business: server.acme });
  const elsewhere = createClient({ ...server, user, app: second, business: other });
  const tokens = await client.connect({ business: server.acme.id }, browser);
  return { user, browser, client, tokens, elsewhere, others: await elsewhere.connect({}, browser) };
}

const SECTIONS = [
  { who: 'a user', pathOf: () => OWN, signedIn: (user: typeof root) => server.signedIn(user) },
  {
    who: 'a platform admin',
    pathOf: ({ id }: typeof root) => `/platform/users/${id}/end-connections`,
    signedIn: () => server.signedIn(root),
  },
];

for (const { who, pathOf, signedIn } of SECTIONS) {
  test(`${who} ends all connections of the user after a question, and the user is asked again`, async () => {
    const { user, browser, client, tokens, elsewhere, others } = await connectedUser(`Ann, ended by ${who}`);
    const bystander = await connectedUser(`Ben, beside ${who}`);
    const visitor = await signedIn(user);

    const question = await visitor.open(pathOf(user));
    const done = await visitor.submit(question, pathOf(user));

    assert.match(question.text, /2 apps in 2 businesses/);
    assert.match(question.text, /This cannot be undone/);
    assert.match(done.text, /All connections are ended\./);
    assert.equal((await client.listInvoices(tokens.access_token)).body.reason, 'connections_ended');
    assert.equal((await elsewhere.refresh(others.refresh_token)).body.reason, 'connections_ended');
    assert.equal((await bystander.client.listInvoices(bystander.tokens.access_token)).status, 200);
    const again = await browser.open(client.authorizeUrl({ business: server.acme.id }));
    assert.match(again.text, /name="decision" value="allow"/);
    const entry = (await readAuditEntries(server)).findLast(({ action }) => action === 'user.connections_ended');
    assert.deepEqual([entry?.subject_id, JSON.parse(entry?.detail ?? '{}')], [user.id, { connections: '2' }]);
  });

  test(`${who} who signed in an hour ago signs in again before ending all connections`, async () => {
    const { user, client, tokens } = await connectedUser(`Cid, unattended by ${who}`);
    const visitor = await signedIn(user);
    const question = await visitor.open(pathOf(user));
    server.advanceClock(HOUR);

    const answered = await visitor.submit(question, pathOf(user));
    const opened = await visitor.open(pathOf(user));

    for (const page of [answered, opened]) assert.match(page.url, /\/sign-in\?/);
    assert.notEqual((await client.refresh(tokens.refresh_token)).body.reason, 'connections_ended');
  });
}

test('the page of connected apps and that of a user lead to the question', async () => {
  const { user, browser } = await connectedUser('Dan');
  const admin = await server.signedIn(root);

  assert.match((await browser.open('/settings/connected-apps')).text, new RegExp(`href="${OWN}"`));
  const path = `/platform/users/${user.id}`;
  assert.match((await admin.open(path)).text, new RegExp(`href="${path}/end-connections"`));
});
