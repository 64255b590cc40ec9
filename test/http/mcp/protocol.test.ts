import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { connectTo, messageOf, postMessage, REVISIONS } from '../../support/mcp.ts';
import { SCOPES } from '../../support/scopes.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer({ MCP_ALLOWED_ORIGINS: 'https://inspector.example.com' });
const url = `${server.api}/mcp`;
const token = await connectTo(server, '/mcp');

/** The token of a new app for the MCP server, and how the app authenticates. */
async function connectClient() {
  const app = await server.addApp({ name: 'Agent', ownerBusinessId: server.acme.id, scopes: SCOPES });
  const client = { client_id: app.id, client_secret: app.secret };
  const code = await server.allow({ client_id: app.id, scope: SCOPES.join(' '), resource: url });
  return { ...client, access_token: (await server.exchange(code, client)).body.access_token as string };
}

const initialize = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'agent', version: '1.0.0' },
};
const tool = { name: 'list_invoices', arguments: {} };

for (const revision of REVISIONS) {
  test(`without a valid token every message of revision ${revision} is a 401`, async () => {
    const messages: [string, object][] = [
      ['initialize', initialize],
      ['server/discover', {}],
      ['tools/list', {}],
      ['tools/call', tool],
      ['ping', {}],
      ['nonsense', {}],
    ];
    for (const [method, params] of messages) {
      for (const presented of [undefined, 'nonsense', (await server.connect()).access_token]) {
        const sent = messageOf(revision, method, params as Record<string, unknown>);
        const { status, headers } = await postMessage({ url, token: presented, ...sent });
        assert.equal(status, 401, method);
        assert.match(headers.get('www-authenticate') ?? '', /^Bearer/);
      }
    }
  });

  test(`a call of revision ${revision} gets a JSON response, without a session`, async () => {
    for (const [method, params] of [
      ['tools/call', tool],
      ['tools/list', {}],
    ] as const) {
      const { status, headers, body } = await postMessage({ url, token, ...messageOf(revision, method, params) });
      assert.equal(status, 200);
      assert.match(headers.get('content-type') ?? '', /^application\/json/);
      assert.equal(headers.get('mcp-session-id'), null);
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.deepEqual([body.jsonrpc, body.id], ['2.0', 1]);
      assert.ok(body.result);
    }
  });

  test(`an unknown tool of revision ${revision} is an error of the protocol`, async () => {
    const { status, body } = await postMessage({
      url,
      token,
      ...messageOf(revision, 'tools/call', { name: 'drop_tables', arguments: {} }),
    });
    assert.deepEqual([status, body.error.code], [200, -32602]);
  });

  test(`arguments of revision ${revision} that are no object are an error of the protocol`, async () => {
    const sent = messageOf(revision, 'tools/call', { name: 'get_me', arguments: 'all' });
    const { body } = await postMessage({ url, token, ...sent });
    assert.equal(body.error.code, -32602);
  });

  test(`the id of a call of revision ${revision} may be text, and calls with the same id may run at the same time`, async () => {
    const sent = messageOf(revision, 'tools/call', tool);
    const message = { ...sent, body: { ...sent.body, id: 'first' } };
    const responses = await Promise.all(Array.from({ length: 20 }, () => postMessage({ url, token, ...message })));
    for (const { body } of responses) assert.ok(body.id === 'first' && body.result.structuredContent.items);
  });

  test(`a batch of revision ${revision} is rejected`, async () => {
    const { headers, body } = messageOf(revision, 'tools/call', tool);
    const response = await postMessage({ url, token, headers, body: [body, body] });
    assert.deepEqual([response.status, response.body.error.code], [400, -32600]);
  });
}

test('the challenge of each address names its metadata, and the scopes of the tools or of the call', async () => {
  const limited = await connectTo(server, '/mcp', { scopes: ['read:invoices'] });
  const sent = messageOf('2026-07-28', 'tools/call', { name: 'create_contact', arguments: {} });
  for (const path of ['/mcp', `/mcp/${server.acme.id}`]) {
    const { status, headers } = await postMessage({ url: server.api + path, ...sent });
    const challenge = headers.get('www-authenticate') ?? '';
    const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];

    assert.equal(status, 401);
    assert.match(challenge, new RegExp(`scope="${SCOPES.join(' ')}"`));
    assert.deepEqual(((await (await fetch(metadata)).json()) as { resource: string }).resource, server.api + path);
  }
  const { status, headers } = await postMessage({ url, token: limited, ...sent });
  const challenge = headers.get('www-authenticate') ?? '';
  assert.equal(status, 403);
  assert.match(challenge, /resource_metadata="[^"]+\/\.well-known\/oauth-protected-resource\/mcp"/);
  assert.match(challenge, /scope="[^"]*write:contacts[^"]*"/);
});

test('revision 2025-11-25 starts with a handshake that creates no session', async () => {
  const sent = messageOf('2025-11-25', 'initialize', initialize);
  const { status, headers, body } = await postMessage({ url, token, ...sent });
  const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const after = await postMessage({ url, token, headers: sent.headers, body: initialized });

  assert.equal(status, 200);
  assert.equal(headers.get('mcp-session-id'), null);
  assert.equal(body.result.protocolVersion, '2025-11-25');
  assert.deepEqual(body.result.capabilities, { tools: {} });
  assert.equal(body.result.serverInfo.name, 'gatehouse');
  assert.deepEqual([after.status, after.text], [202, '']);
});

test('revision 2026-07-28 discovers the server without a handshake, and may keep the list of tools', async () => {
  const discovered = await postMessage({ url, token, ...messageOf('2026-07-28', 'server/discover') });
  const listed = await postMessage({ url, token, ...messageOf('2026-07-28', 'tools/list') });

  assert.deepEqual(discovered.body.result.supportedVersions, ['2026-07-28']);
  assert.deepEqual([listed.body.result.ttlMs, listed.body.result.cacheScope], [300_000, 'public']);
});

test('a client that subscribes to changes learns that there are none', async () => {
  const { status, text } = await postMessage({
    url,
    token,
    ...messageOf('2026-07-28', 'subscriptions/listen', { notifications: { toolsListChanged: true } }),
  });
  assert.equal(status, 200);
  assert.match(text, /subscriptions\/acknowledged/);
});

test('headers of revision 2026-07-28 that do not match the body are rejected', async () => {
  const { headers, body } = messageOf('2026-07-28', 'tools/call', tool);
  const { 'mcp-name': _, ...nameless } = headers;
  const wrong = [
    { ...headers, 'mcp-name': 'get_me' },
    { ...headers, 'mcp-method': 'tools/list' },
    { ...headers, 'mcp-protocol-version': '2025-11-25' },
    nameless,
  ];
  for (const sent of wrong) {
    const response = await postMessage({ url, token, headers: sent, body });
    assert.deepEqual([response.status, response.body.error.code], [400, -32020], JSON.stringify(sent));
  }
});

test('an encoded name of a tool is decoded', async () => {
  const { headers, body } = messageOf('2026-07-28', 'tools/call', tool);
  const encoded = { ...headers, 'mcp-name': `=?base64?${btoa(tool.name)}?=` };
  assert.ok((await postMessage({ url, token, headers: encoded, body })).body.result.structuredContent);
});

test('a revision that is not served is named with those that are', async () => {
  const sent = messageOf('2026-07-28', 'tools/list');
  const text = JSON.stringify(sent.body).replace('2026-07-28', '2099-01-01');
  const headers = { ...sent.headers, 'mcp-protocol-version': '2099-01-01' };
  const { status, body } = await postMessage({ url, token, headers, body: text });

  assert.equal(status, 400);
  assert.deepEqual(body.error.data.supported, ['2026-07-28']);
});

test('an unknown method is a 404, and an invalid message is a 400', async () => {
  const unknown = await postMessage({ url, token, ...messageOf('2026-07-28', 'prompts/list') });
  const { headers } = messageOf('2025-11-25', 'ping');
  const malformed = await postMessage({ url, token, headers, body: '{"jsonrpc":' });
  const empty = await postMessage({ url, token, headers, body: {} });
  const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };

  assert.deepEqual([unknown.status, unknown.body.error.code], [404, -32601]);
  assert.deepEqual([malformed.status, malformed.body.reason], [400, 'body_malformed']);
  assert.deepEqual([empty.status, empty.body.error.code], [400, -32600]);
  assert.equal((await postMessage({ url, token, headers: form, body: 'method=ping' })).status, 415);
});

test('a body over 512 KiB is a 413, and a smaller one is read', async () => {
  const call = (cursor: string) => messageOf('2025-11-25', 'tools/call', { ...tool, arguments: { cursor } });
  const statusOf = async (length: number) => (await postMessage({ url, token, ...call('x'.repeat(length)) })).status;

  assert.deepEqual([await statusOf(500 * 1024), await statusOf(512 * 1024)], [200, 413]);
});

test('a call whose body arrives after its token was revoked is a 401, and runs nothing', async () => {
  const { access_token, ...client } = await connectClient();
  const { headers, body } = messageOf('2026-07-28', 'tools/call', tool);
  const authorization = `Bearer ${access_token}`;
  const slow = request(url, { method: 'POST', headers: { ...headers, authorization, expect: '100-continue' } });
  slow.flushHeaders();
  await once(slow, 'continue');
  // This one comes later. So when it has its response, the token of the first has been checked.
  assert.equal((await postMessage({ url, token: access_token, headers, body })).status, 200);

  await server.revoke(access_token, client);
  slow.end(JSON.stringify(body));
  const [response] = (await once(slow, 'response')) as [IncomingMessage];

  assert.equal(response.statusCode, 401);
  assert.match(response.headers['www-authenticate'] ?? '', /invalid_token/);
  assert.equal(((await json(response)) as { reason: string }).reason, 'access_token_revoked');
});

test('GET and DELETE are a 405: there are no streams and no sessions', async () => {
  for (const path of ['/mcp', `/mcp/${server.acme.id}`]) {
    for (const method of ['GET', 'DELETE']) {
      const response = await fetch(server.api + path, { method, headers: { authorization: `Bearer ${token}` } });
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST, OPTIONS']);
    }
  }
});

test('a page of another origin is rejected, whatever its token, and so is its preflight [G4]', async () => {
  const sent = messageOf('2026-07-28', 'tools/call', tool);
  for (const origin of ['https://evil.example.com', 'null', `${server.api}.evil.example.com`]) {
    const { status, body } = await postMessage({ url, token, ...sent, headers: { ...sent.headers, origin } });
    const preflight = await fetch(url, { method: 'OPTIONS', headers: { origin } });

    assert.deepEqual([status, body.reason], [403, 'origin_not_allowed']);
    assert.equal(preflight.status, 403);
    assert.equal(preflight.headers.get('access-control-allow-origin'), null);
  }
});

test('a page of our own origins or of an allowed one may call tools', async () => {
  const sent = messageOf('2026-07-28', 'tools/call', tool);
  for (const origin of [server.api, server.web, 'https://inspector.example.com']) {
    const { status, headers } = await postMessage({ url, token, ...sent, headers: { ...sent.headers, origin } });
    const preflight = await fetch(url, { method: 'OPTIONS', headers: { origin } });

    assert.deepEqual([status, headers.get('access-control-allow-origin')], [200, origin]);
    assert.equal(preflight.status, 204);
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /mcp-protocol-version/);
  }
});

test('an address below /mcp that is no business is a 404', async () => {
  const sent = messageOf('2026-07-28', 'tools/call', tool);
  assert.equal((await postMessage({ url: `${url}/nonsense`, token, ...sent })).status, 404);
});
