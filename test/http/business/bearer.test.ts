import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR, SECOND } from '../../../src/lib/clock.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const tokens = await server.connect({}, browser);
const PATHS = ['/api/v1/accounting/invoices', '/api/v1/businesses', '/api/v1/me'];

/** The challenge names the metadata and the scope, and has no error code. */
const BARE = /^Bearer resource_metadata="[^"]+\/\.well-known\/oauth-protected-resource\/api\/v1"(?:, scope="[^"]+")?$/;

const call = (path: string, headers: Record<string, string>) =>
  server.get(path, { 'x-business-id': server.acme.id, ...headers });

function assertRejected(response: Awaited<ReturnType<typeof call>>, status: number, error: string) {
  const { headers, body } = response;
  assert.deepEqual([response.status, body.error], [status, error]);
  assert.match(body.error_description, /\S/);
  assert.match(
    headers.get('www-authenticate') ?? '',
    new RegExp(`^Bearer error="${error}", error_description="[^"]+"`),
  );
}

test('a request without a token gets 401 with a challenge that has no error code [P1]', async () => {
  for (const path of PATHS) {
    const { status, headers, body } = await call(path, {});

    assert.equal(status, 401);
    assert.match(headers.get('www-authenticate') ?? '', BARE);
    assert.deepEqual(Object.keys(body).slice(0, 2), ['error', 'error_description']);
  }
});

test('another authentication scheme counts as no token (RFC 6750 §3.1) [P1]', async () => {
  const basic = Buffer.from(`${server.ledger.id}:${server.ledger.secret}`).toString('base64');
  for (const path of PATHS) {
    const { status, headers } = await call(path, { authorization: `Basic ${basic}` });

    assert.equal(status, 401);
    assert.match(headers.get('www-authenticate') ?? '', BARE);
  }
});

test('a token that is malformed, unknown or changed is an invalid_token [P2]', async () => {
  for (const path of PATHS) {
    for (const token of ['x', 'gat_', `gat_${'A'.repeat(96)}`, `${tokens.access_token}x`, `${tokens.access_token},x`]) {
      assertRejected(await call(path, { authorization: `Bearer ${token}` }), 401, 'invalid_token');
    }
    assertRejected(await call(path, { authorization: `Bearer ${tokens.access_token} x` }), 401, 'invalid_token');
  }
});

test('an access token works for an hour, and then is an invalid_token that says so [P2]', async () => {
  server.advanceClock(SECOND - (server.clock() % SECOND));
  const { access_token } = await server.connect({}, browser);
  const authorization = `Bearer ${access_token}`;
  server.advanceClock(HOUR - 1);
  for (const path of PATHS) assert.equal((await call(path, { authorization })).status, 200);
  server.advanceClock(1);
  for (const path of PATHS) {
    const response = await call(path, { authorization });
    assertRejected(response, 401, 'invalid_token');
    assert.match(response.body.error_description, /expired: it lasts one hour/);
  }
});

test('a revoked token is an invalid_token [P2]', async () => {
  const { access_token, refresh_token } = await server.connect({}, browser);
  const other = await server.refresh(refresh_token);
  await server.revoke(access_token);
  for (const path of PATHS) {
    assertRejected(await call(path, { authorization: `Bearer ${access_token}` }), 401, 'invalid_token');
  }
  await server.revoke(refresh_token);
  for (const path of PATHS) {
    assertRejected(await call(path, { authorization: `Bearer ${other.body.access_token}` }), 401, 'invalid_token');
  }
});

test('a token without the scope gets 403 insufficient_scope, which names the scope [P3]', async () => {
  const { access_token } = await server.connect({ scope: 'write:invoices read:contacts' }, browser);
  const response = await server.listInvoices(access_token);

  assertRejected(response, 403, 'insufficient_scope');
  assert.match(response.headers.get('www-authenticate') ?? '', /, scope="read:invoices"$/);
  assert.match(response.body.error_description, /read:invoices/);
});

test('insufficient_scope does not say why the token lacks the scope: a refresh may have left it out', async () => {
  const { refresh_token } = await server.connect({ scope: 'read:invoices read:contacts' }, browser);
  const { body } = await server.refresh(refresh_token, { scope: 'read:contacts' });
  const narrowed = await server.listInvoices(body.access_token);

  assert.equal(
    narrowed.body.error_description,
    'This needs the scope read:invoices, which this token does not have. Request it at the authorize endpoint.',
  );
});

test('a token in the query is ignored, and with the header as well it is a 400 [P4]', async () => {
  const { access_token } = await server.connect({}, browser);
  for (const path of PATHS) {
    const alone = await call(`${path}?access_token=${access_token}`, {});
    assert.equal(alone.status, 401);
    assert.match(alone.headers.get('www-authenticate') ?? '', BARE);

    const both = await call(`${path}?access_token=${access_token}`, { authorization: `Bearer ${access_token}` });
    assertRejected(both, 400, 'invalid_request');
  }
});

test('a header Authorization sent twice is a 400, also with the same token', async () => {
  const { access_token } = await server.connect({}, browser);
  for (const path of PATHS) {
    for (const second of [`Bearer ${access_token}`, 'Bearer x', 'Basic eDp5']) {
      const { status, text } = await sendRaw(server.api, {
        path,
        headers: [
          ['Authorization', `Bearer ${access_token}`],
          ['x-business-id', server.acme.id],
          ['authorization', second],
        ],
      });
      assert.deepEqual([status, JSON.parse(text).reason], [400, 'credentials_sent_twice'], path);
    }
  }
});

test('an empty access_token in the address counts as absent', async () => {
  const { access_token } = await server.connect({}, browser);
  for (const path of PATHS) {
    const { status } = await call(`${path}?access_token=`, { authorization: `Bearer ${access_token}` });
    assert.equal(status, 200, path);
  }
});

test('a refresh token, code, client secret or session id does not work as bearer token [P5]', async () => {
  const { access_token, refresh_token } = await server.connect({}, browser);
  const code = await server.allow({}, browser);
  const session = browser.cookies.get('__Host-session') ?? '';
  assert.notEqual(session, '');

  for (const path of PATHS) {
    for (const text of [
      refresh_token,
      code,
      server.ledger.secret,
      session,
      refresh_token.replace('grt_', 'gat_'),
      code.replace('gac_', 'gat_'),
      access_token.replace('gat_', ''),
    ]) {
      assertRejected(await call(path, { authorization: `Bearer ${text}` }), 401, 'invalid_token');
    }
  }
});

test('cookies are ignored: a session authenticates nothing on the API [P5][D6]', async () => {
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
  for (const path of PATHS) {
    const { status, headers } = await call(path, { cookie });

    assert.equal(status, 401);
    assert.match(headers.get('www-authenticate') ?? '', BARE);
    assert.equal(headers.get('set-cookie'), null);
  }
});

test('the scheme is case-insensitive', async () => {
  const { access_token } = await server.connect({}, browser);
  for (const scheme of ['bearer', 'BEARER']) {
    assert.equal((await call('/api/v1/businesses', { authorization: `${scheme} ${access_token}` })).status, 200);
  }
});

test('another method is a 405 with Allow, and an unknown path a 404, both in JSON', async () => {
  const wrong = await fetch(`${server.api}${PATHS[0]}`, { method: 'DELETE' });
  const missing = await server.get('/api/v1/accounting/secrets');

  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers.get('allow'), 'GET, HEAD, OPTIONS, POST');
  assert.deepEqual([missing.status, missing.body.error], [404, 'not_found']);
});
