import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setAppPolicy } from '../../support/app-rules.ts';
import { createClient } from '../../support/client.ts';
import { connectionsIn } from '../../support/connections.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const MCP = `${server.api}/mcp`;

/** An app without connections. */
async function newClient(changes: { allowedScopes?: string[] } = {}) {
  const app = await server.addApp({ name: 'Agent', ownerBusinessId: server.acme.id, ...changes });
  return createClient({ ...server, user: server.ada, app, business: server.acme });
}

const scopesOf = async (client: Awaited<ReturnType<typeof newClient>>, token: string) =>
  (await client.introspect(token)).body.scope;

test('a second Allow with more scopes gives a token with all of them, and the first keeps what it had', async () => {
  const client = await newClient();
  const first = await client.connect({ resource: MCP, scope: 'read:invoices' });
  const second = await client.connect({ resource: MCP, scope: 'write:invoices' });
  const third = await client.connect({ resource: MCP, scope: 'read:contacts' });

  assert.equal(second.scope, 'read:invoices write:invoices');
  assert.equal(third.scope, 'read:invoices write:invoices read:contacts');
  assert.equal(await scopesOf(client, first.access_token), 'read:invoices');
  assert.equal((await client.refresh(first.refresh_token)).body.scope, 'read:invoices');
  assert.equal((await client.refresh(second.refresh_token)).body.scope, second.scope);
});

test('without a resource, a token has the scopes of its request', async () => {
  const client = await newClient();
  await client.connect({ scope: 'read:invoices' });
  const { scope } = await client.connect({ scope: 'read:contacts' });

  assert.equal(scope, 'read:contacts');
});

test('the screen says that the app keeps what was allowed, and marks what is new', async () => {
  const client = await newClient();
  await client.connect({ resource: MCP, scope: 'read:invoices' });
  const page = await (await server.signedIn()).open(client.authorizeUrl({ resource: MCP, scope: 'read:contacts' }));

  assert.match(page.text, /You have allowed this app before/);
  assert.match(page.text, /What you allowed before stays allowed until you disconnect the app\./);
  assert.match(page.text, /View CRM contacts and companies <span class="new">New<\/span>/);
});

test('the screen lists all scopes that Allow grants, including those that the app does not request again', async () => {
  const client = await newClient();
  const browser = await server.signedIn();
  await client.connect({ resource: MCP, scope: 'read:invoices write:invoices' }, browser);
  const listed = async (request: Record<string, string>) =>
    (await browser.open(client.authorizeUrl(request))).text
      .match(/(?<=<li><svg.*<\/svg><span>)[^<]+/g)
      ?.map((item) => item.trim());

  const atMcp = await listed({ resource: MCP, scope: 'read:contacts' });
  const atBusinessApi = await listed({ scope: 'read:contacts' });

  const [profile, contacts] = ['Name and email address', 'View CRM contacts and companies'];
  assert.deepEqual(atMcp, [
    profile,
    'View invoices, line items and payment status',
    'Create, update and send invoices',
    contacts,
  ]);
  assert.deepEqual(atBusinessApi, [profile, contacts]);
});

test('Allow on a screen from before another Allow shows the screen again, with all scopes, and grants nothing', async () => {
  const client = await newClient();
  const browser = await server.signedIn();
  const old = await browser.open(client.authorizeUrl({ resource: MCP, scope: 'read:contacts' }));
  await client.connect({ resource: MCP, scope: 'read:invoices' }, browser);

  const again = await browser.submit(old, '/consent', { decision: 'allow' });
  const { leftTo } = await browser.submit(again, '/consent', { decision: 'allow' });
  const { body } = await client.exchange(leftTo?.searchParams.get('code') ?? '');

  assert.equal(again.leftTo, undefined);
  assert.match(again.text, /View invoices, line items/);
  assert.equal(body.scope, 'read:invoices read:contacts');
});

test('a scope that the business has reserved to owners since the first Allow is neither listed nor granted', async () => {
  const client = await newClient({ allowedScopes: ['read:invoices', 'read:contacts', 'read:employees'] });
  const boris = await server.signedIn(await server.addUser('Boris', [[server.acme, 'member']]));
  await client.connect({ resource: MCP, scope: 'read:invoices read:employees' }, boris);
  await setAppPolicy(await server.signedIn(), 'anyone', 'yes');

  const page = await boris.open(client.authorizeUrl({ resource: MCP, scope: 'read:contacts' }));
  const { leftTo } = await boris.submit(page, '/consent', { decision: 'allow' });
  const { body } = await client.exchange(leftTo?.searchParams.get('code') ?? '');

  assert.doesNotMatch(page.text, /employee/);
  assert.equal(body.scope, 'read:invoices read:contacts');
});

test('connected apps shows one connection with all scopes, and disconnecting it ends every grant and forgets them', async () => {
  const client = await newClient();
  const browser = await server.signedIn();
  const first = await client.connect({ resource: MCP, scope: 'read:invoices' }, browser);
  const second = await client.connect({ resource: MCP, scope: 'read:contacts' }, browser);

  const listed = connectionsIn(await browser.open('/settings/connected-apps'));
  const [only, ...more] = listed.filter(({ path }) => path.includes(client.credentials.client_id));
  assert.equal(more.length, 0);
  assert.match((await browser.open(only?.path ?? '')).text, /View invoices, line items.*View CRM contacts/s);

  await browser.post('/settings/connected-apps/disconnect', {
    csrf: await browser.csrf(),
    app: client.credentials.client_id,
    business: server.acme.id,
  });
  for (const { access_token } of [first, second]) assert.equal(await scopesOf(client, access_token), undefined);
  const { scope } = await client.connect({ resource: MCP, scope: 'read:contacts' }, browser);
  assert.equal(scope, 'read:contacts');
});

test('a scope that the app is no longer registered for is not added', async () => {
  const client = await newClient();
  await client.connect({ resource: MCP, scope: 'read:invoices write:invoices' });
  const db = server.storage().durable;
  const fewer = { allowed_scopes: 'read:invoices read:contacts' };
  await db.updateTable('apps').set(fewer).where('id', '=', client.credentials.client_id).execute();

  const { scope } = await client.connect({ resource: MCP, scope: 'read:contacts' });

  assert.equal(scope, 'read:invoices read:contacts');
});

test('an optional scope that was allowed before and is unticked now is not added', async () => {
  const client = await newClient();
  const browser = await server.signedIn();
  await client.connect({ resource: MCP, scope: 'read:invoices read:contacts' }, browser);
  const request = { resource: MCP, scope: 'write:invoices', optional_scope: 'read:contacts' };

  const page = await browser.open(client.authorizeUrl(request));
  const { leftTo } = await browser.submit(page, '/consent', { decision: 'allow', optional_scope: [] });
  const { body } = await client.exchange(leftTo?.searchParams.get('code') ?? '');

  assert.equal(body.scope, 'read:invoices write:invoices');
});
