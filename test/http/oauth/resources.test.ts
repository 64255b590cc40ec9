import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRandomId } from '../../../src/lib/ids.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { countGrants } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const API = `${server.api}/api/v1`;
const MCP = `${server.api}/mcp`;
const OWN = `${MCP}/${server.acme.id}`;

async function tokenFor(resource: string | undefined): Promise<string> {
  return (await server.connect({ resource })).access_token;
}

/** The parameters of the redirect that a request ends with. */
async function authorizeParams(changes: Record<string, string | undefined>, more = '') {
  const browser = await server.signedIn();
  return redirectParams((await browser.open(server.authorizeUrl(changes) + more)).leftTo?.href);
}

test('a token without resource, or for the business API, works at the business API [G2]', async () => {
  for (const resource of [undefined, '', API, `${API}/`]) {
    const { status } = await server.listInvoices(await tokenFor(resource));
    assert.equal(status, 200, `resource ${resource}`);
  }
});

test('a token for an MCP server does not work at the business API [G2]', async () => {
  for (const resource of [MCP, `${MCP}/`, OWN]) {
    const { status, body, headers } = await server.listInvoices(await tokenFor(resource));
    assert.deepEqual([status, body.error, body.reason], [401, 'invalid_token', 'token_for_other_resource'], resource);
    assert.match(headers.get('www-authenticate') ?? '', /error="invalid_token"/);
  }
});

test('a resource that this server does not have is invalid_target [G2]', async () => {
  const { host } = new URL(server.api);
  const unknown = [
    'mcp',
    '/mcp',
    server.api,
    `${server.api}/`,
    `${server.api}/api`,
    `${server.api}/api/v1/me`,
    `${MCP}//`,
    `${MCP}/acme`,
    `${OWN}/x`,
    `${OWN.toUpperCase()}`,
    `${MCP}?x`,
    `${MCP}#`,
    `${MCP}#x`,
    `https://${host}.example/mcp`,
    `http://user@${host}/mcp`,
    `${server.web}/mcp`,
    'urn:mcp',
  ];
  for (const resource of unknown) {
    const { error, reason, state } = await authorizeParams({ resource });
    assert.deepEqual([error, reason, state], ['invalid_target', 'resource_unknown', 'state-1'], resource);
  }
});

test('a resource may be repeated, but a request is for one resource only [G2]', async () => {
  const { error, reason } = await authorizeParams({ resource: MCP }, `&resource=${API}`);
  const same = await authorizeParams({ resource: MCP }, `&resource=${MCP}/`);

  assert.deepEqual([error, reason], ['invalid_target', 'resource_repeated']);
  assert.ok(same.code);
});

test('a token request may repeat the resource of its grant, as text, as a list and with a slash', async () => {
  const code = await server.allow({ resource: MCP });
  const first = await server.exchange(code, { resource: MCP });
  const second = await server.refresh(first.body.refresh_token, { resource: [MCP, `${MCP}/`] });
  const third = await server.refresh(second.body.refresh_token, { resource: '' });
  const form = new URLSearchParams({ grant_type: 'refresh_token', ...server.credentials });
  for (const [name, value] of [
    ['refresh_token', third.body.refresh_token],
    ['resource', MCP],
    ['resource', MCP],
  ])
    form.append(name, value);
  const fourth = await fetch(`${API}/oauth/token`, { method: 'POST', body: form });

  assert.deepEqual([first.status, second.status, third.status, fourth.status], [200, 200, 200, 200]);
  assert.deepEqual(Object.keys(first.body), Object.keys(third.body));
});

test('neither an exchange nor a refresh changes the resource, and the code and the token still work [G2]', async () => {
  for (const [resource, others] of [
    [undefined, [MCP, OWN]],
    [MCP, [API, OWN, [MCP, API]]],
    [OWN, [MCP, API, `${MCP}/${newRandomId()}`]],
  ] as const) {
    const code = await server.allow({ resource });
    for (const other of others)
      assert.equal((await server.exchange(code, { resource: other })).body.error, 'invalid_target');
    const { body } = await server.exchange(code, { resource });
    for (const other of others) {
      const { status, body: rejected } = await server.refresh(body.refresh_token, { resource: other });
      assert.deepEqual([status, rejected.error], [400, 'invalid_target']);
    }
    const { body: refreshed } = await server.refresh(body.refresh_token);
    const { status } = await server.listInvoices(refreshed.access_token);
    assert.equal(status, resource === undefined ? 200 : 401);
  }
});

test('introspection names the resource as aud, only if it is not the business API [G2]', async () => {
  for (const resource of [undefined, API, MCP, OWN]) {
    const { access_token, refresh_token } = await server.connect({ resource });
    for (const token of [access_token, refresh_token]) {
      const { body } = await server.introspect(token);
      assert.equal(body.active, true);
      assert.equal(body.aud, resource === API ? undefined : resource);
      assert.equal('aud' in body, resource === MCP || resource === OWN);
    }
  }
});

test('for the resource of a business, the screen is about that business, whichever is current, and offers no other', async () => {
  const open = await server.addApp({ name: 'Open', ownerBusinessId: server.acme.id, openToAnyBusiness: true });
  const beta = await server.addBusiness('Beta');
  const user = await server.addUser('Olga', [
    [server.acme, 'member'],
    [beta, 'member'],
  ]);
  const browser = await server.signedIn(user);

  for (const business of [beta, server.acme]) {
    const request = server.authorizeUrl({ client_id: open.id, resource: `${MCP}/${business.id}` });
    const page = await browser.open(request);
    assert.match(page.text, new RegExp(`access <strong><bdi>${business.name}</bdi></strong>`));
    const other = business === beta ? server.acme : beta;
    assert.doesNotMatch(page.text, /name="business"|value="switch"/);
    assert.ok(!page.text.includes(other.id));
    const { leftTo } = await browser.submit(page, '/consent', { decision: 'allow', business: other.id });
    const code = redirectParams(leftTo?.href).code ?? '';
    const credentials = { client_id: open.id, client_secret: open.secret };
    const { body } = await server.introspect((await server.exchange(code, credentials)).body.access_token, credentials);
    assert.deepEqual([body.business_id, body.aud], [business.id, `${MCP}/${business.id}`]);
  }
});

test('a business that the user is not a member of, or that the app may not act in, is denied like one that does not exist', async () => {
  const platform = await server.addApp({ name: 'Console' });
  const strange = await server.addBusiness('Strange');
  const shared = await server.addBusiness('Shared');
  const user = await server.addUser('Uma', [
    [server.acme, 'member'],
    [shared, 'member'],
  ]);
  const browser = await server.signedIn(user);
  const before = await countGrants(server);
  const responses = [];
  for (const [client, businessId] of [
    [platform, newRandomId()],
    [platform, strange.id],
    [server.ledger, newRandomId()],
    [server.ledger, strange.id],
    [server.ledger, shared.id],
  ] as const) {
    for (const prompt of [undefined, 'none']) {
      const url = server.authorizeUrl({ client_id: client.id, resource: `${MCP}/${businessId}`, prompt });
      responses.push((await browser.open(url)).leftTo?.search);
    }
  }

  assert.equal(new Set(responses).size, 1);
  const { error, reason } = redirectParams(`https://x.example/${responses[0]}`);
  assert.deepEqual([error, reason], ['access_denied', 'not_a_member']);
  assert.equal(await countGrants(server), before);
});
