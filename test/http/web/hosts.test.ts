import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hiddenFields, toBody } from '../../support/browser.ts';
import { freePort } from '../../support/ports.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer({ TRUST_PROXY: '127.0.0.1,::1' });
const browser = await server.signedIn();

const FORGED: [name: string, value: string][] = [
  ['Host', 'evil.example'],
  ['X-Forwarded-Host', 'evil.example'],
  ['X-Forwarded-Proto', 'https'],
  ['Forwarded', 'host=evil.example'],
];

test('Host and X-Forwarded-Host change no issuer, link or redirect, even behind a trusted proxy [X3]', async () => {
  const { pathname, search } = new URL(server.authorizeUrl());
  const bad = new URL(server.authorizeUrl({ scope: 'read:everything' }));
  const send = (origin: string, path: string) => sendRaw(origin, { path, headers: FORGED });

  const metadata = await send(server.api, '/.well-known/oauth-authorization-server');
  const authorize = await send(server.api, pathname + search);
  const rejected = await send(server.api, bad.pathname + bad.search);
  const error = await send(server.api, '/api/v1/accounting/invoices');
  const page = await send(server.web, '/settings/account');
  const consent = await send(server.web, `/consent${search}`);
  const signIn = await send(server.web, '/sign-in');

  assert.equal(JSON.parse(metadata.text).issuer, server.api);
  assert.ok(authorize.location?.startsWith(`${server.web}/consent?`), authorize.location ?? '');
  assert.equal(new URL(rejected.location ?? '').searchParams.get('iss'), server.api);
  assert.ok(consent.location?.startsWith(`${server.api}/api/v1/oauth/authorize?`), consent.location ?? '');
  assert.equal(page.location, '/sign-in?return_to=%2Fsettings%2Faccount');
  for (const response of [metadata, authorize, rejected, error, page, consent, signIn]) {
    assert.ok(!JSON.stringify(response).includes('evil.example'));
  }
});

test('nor do they change a link that is shown, or an address in the reference [X3]', async () => {
  const cookie: [string, string] = ['Cookie', [...browser.cookies].map((pair) => pair.join('=')).join('; ')];
  const form = hiddenFields((await browser.open('/settings/members/invite')).text, '/settings/members/invite');
  const body = `${toBody({ ...form, role: 'member', email: 'kim@example.com' })}`;
  const sent: [string, string][] = [
    ['Content-Type', 'application/x-www-form-urlencoded'],
    ['Content-Length', String(body.length)],
  ];

  const invited = await sendRaw(server.web, {
    path: server.acmePath('members/invite'),
    method: 'POST',
    headers: [...FORGED, cookie, ...sent],
    body,
  });
  const document = await sendRaw(server.api, { path: '/openapi.json', headers: FORGED });
  const reference = await sendRaw(server.api, { path: '/docs', headers: FORGED });

  assert.ok(invited.text.includes(`<code id="invitation">${server.web}/invitation/`), invited.text);
  assert.equal(JSON.parse(document.text).servers[0].url, server.api);
  for (const response of [invited, document, reference]) assert.doesNotMatch(response.text, /evil\.example/);
});

test('an absolute request target does not change the host [X3]', async () => {
  const response = await sendRaw(server.web, { path: 'http://evil.example/settings/account' });

  assert.ok(response.status < 500, String(response.status));
  assert.match(response.location ?? '/', /^\/(?!\/)/);
  assert.doesNotMatch(response.text, /evil\.example/);
});

test('the API host sets no cookie and ignores cookies [D6]', async () => {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const session = browser.cookies.get('__Host-session') ?? '';
  const { access_token } = await server.connect({}, browser);

  for (const path of ['/api/v1/accounting/invoices', '/api/v1/businesses', '/docs/errors/invalid_grant', '/healthz']) {
    const without = await fetch(server.api + path);
    const withCookie = await fetch(server.api + path, { headers: { cookie } });
    assert.equal(withCookie.status, without.status);
    assert.equal(await withCookie.text(), await without.text());
    assert.deepEqual(withCookie.headers.getSetCookie(), []);
  }
  const asBearer = await server.listInvoices(session);
  const both = await server.listInvoices(access_token, { cookie: '__Host-session=nonsense' });
  assert.equal(asBearer.status, 401);
  assert.equal(both.status, 200);
});

test('the web host ignores bearer tokens [D6]', async () => {
  const { access_token } = await server.connect({}, browser);

  const response = await fetch(`${server.web}/settings/account`, {
    headers: { authorization: `Bearer ${access_token}` },
    redirect: 'manual',
  });

  assert.equal(response.status, 303);
  assert.match(response.headers.get('location') ?? '', /^\/sign-in/);
});

test('neither host serves what belongs to the other [D6]', async () => {
  for (const path of ['/sign-in', '/settings/account', '/consent', '/platform/developer/apps']) {
    assert.equal((await fetch(server.api + path, { redirect: 'manual' })).status, 404, path);
  }
  for (const path of ['/api/v1/businesses', '/.well-known/oauth-authorization-server', '/openapi.json']) {
    assert.equal((await fetch(server.web + path, { redirect: 'manual' })).status, 404, path);
  }
});

test('a 404 is a page on the web host and JSON on the API host', async () => {
  const page = await fetch(`${server.web}/nowhere`);
  const response = await fetch(`${server.api}/api/v1/nowhere`);

  assert.equal(page.status, 404);
  assert.match(await page.text(), /<h1>Page not found<\/h1>/);
  assert.equal(response.status, 404);
  assert.equal(((await response.json()) as { error: string }).error, 'not_found');
});

test('a path of the API on the web host is a 404 that names the address of the API', async () => {
  const paths = [
    '/api/v1/oauth/authorize?client_id=x',
    '/api/v1/businesses',
    '/mcp',
    '/.well-known/oauth-authorization-server',
  ];
  for (const path of [...paths, '/api/v1/nowhere']) {
    const response = await fetch(server.web + path);
    const body = (await response.json()) as { error: string; error_description: string };

    assert.deepEqual([response.status, body.error], [404, 'not_found'], path);
    assert.ok(body.error_description.includes(`The API is at ${server.api}:`), path);
  }
  const { status } = await fetch(`${server.web}/api/v1/oauth/token`, { method: 'POST', body: 'grant_type=x' });
  assert.equal(status, 404);
  assert.doesNotMatch(await (await fetch(`${server.api}/api/v1/nowhere`)).text(), /The API is at/);
});

const WRONG_WAYS: [method: string, origin: string, path: string, allow: string][] = [
  ['GET', server.api, '/api/v1/oauth/token', 'OPTIONS, POST'],
  ['DELETE', server.api, '/api/v1/oauth/revoke', 'OPTIONS, POST'],
  ['DELETE', server.api, '/api/v1/accounting/invoices', 'GET, HEAD, OPTIONS, POST'],
  ['DELETE', server.web, '/sign-in', 'GET, HEAD, POST'],
  ['PUT', server.web, '/settings/account', 'GET, HEAD'],
  ['GET', server.web, '/settings/current-business', 'POST'],
];

for (const [method, origin, path, allow] of WRONG_WAYS) {
  test(`${method} ${path} gets 405 with the allowed methods`, async () => {
    const response = await fetch(origin + path, { method, redirect: 'manual' });

    assert.equal(response.status, 405);
    assert.equal(response.headers.get('allow'), allow);
  });
}

const BODIES: [what: string, init: RequestInit][] = [
  ['no body', {}],
  ['JSON', { headers: { 'content-type': 'application/json' }, body: '{}' }],
  ['a body of another type', { headers: { 'content-type': 'text/plain' }, body: 'x' }],
  ['a malformed content type', { headers: { 'content-type': 'x' }, body: 'x' }],
  ['malformed JSON', { headers: { 'content-type': 'application/json' }, body: '{' }],
];

for (const [, origin, path, allow] of WRONG_WAYS) {
  test(`${path} responds to QUERY, PROPFIND and other methods with 405 and Allow, whatever the body`, async () => {
    for (const method of ['QUERY', 'PROPFIND', 'MKCOL', 'SEARCH', 'LOCK', 'PUT', 'PATCH']) {
      for (const [what, init] of BODIES) {
        const { status, headers } = await fetch(origin + path, { ...init, method, redirect: 'manual' });

        assert.deepEqual([status, headers.get('allow')], [405, allow], `${method} with ${what}`);
        assert.ok(headers.get('x-request-id'), method);
      }
    }
  });
}

test('on an unknown path any method and body is a 404', async () => {
  for (const origin of [server.api, server.web]) {
    for (const method of ['QUERY', 'PROPFIND', 'PUT', 'POST']) {
      for (const [what, init] of BODIES) {
        const { status, headers } = await fetch(`${origin}/api/v1/nowhere`, { ...init, method });

        assert.deepEqual([status, headers.get('allow')], [404, null], `${method} with ${what}`);
      }
    }
  }
});

for (const path of ['/sign-in', '/sign-out', '/settings/account', '/nowhere']) {
  test(`HEAD ${path} gets the same response as GET, without a body`, async () => {
    const get = await browser.fetch(path);

    const head = await browser.fetch(path, { method: 'HEAD' });

    assert.equal(head.status, get.status);
    assert.equal(head.headers.get('content-security-policy'), get.headers.get('content-security-policy'));
    assert.equal(await head.text(), '');
  });
}

test('where both addresses are the same, one listener serves both, and the whole flow works', async () => {
  const origin = `http://localhost:${await freePort()}`;
  const one = await startTestServer({ BASE_URL: origin, CONSENT_URL: origin });
  const visitor = await one.signedIn();

  const tokens = await one.connect({}, visitor);
  const account = await visitor.open('/settings/account');

  assert.equal((await one.listInvoices(tokens.access_token)).status, 200);
  assert.equal(account.status, 200);
  assert.ok(hiddenFields(account.text, '/sign-out').csrf);
  assert.equal((await fetch(`${origin}/healthz`)).status, 200);
  assert.equal((await visitor.fetch('/api/v1/businesses')).status, 401);
});

const ODD_TARGETS = [
  '/:a(',
  '/readyz:a(',
  '/*hez',
  '/api/v1/*oauth/introspect',
  '/:a((x+x+)+y)',
  '/assets/*',
  '/%zz',
  '//',
];

for (const path of ODD_TARGETS) {
  test(`a path that looks like a route pattern is only a path: ${path} [X5]`, async () => {
    for (const origin of [server.api, server.web]) {
      const { status } = await sendRaw(origin, { path });
      assert.ok(status >= 400 && status < 500, `${origin}${path}: ${status}`);
    }
  });
}

test('a target with scheme and host is routed by its path alone, with the same errors [X3]', async () => {
  const absolute = await sendRaw(server.api, { path: 'http://evil.example/api/v1/businesses' });
  const plain = await sendRaw(server.api, { path: '/api/v1/businesses' });

  assert.equal(absolute.status, 401);
  assert.deepEqual(absolute, plain);
});
