import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { PLATFORM } from '../../support/app-pages.ts';
import { startUnderHttps } from '../../support/https-server.ts';
import { withReadOnlyDatabase } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const root = await server.addUser('Root', [[server.acme, 'owner']], true);
const platformApp = await server.addApp({ name: 'Console' });
const browser = await server.signedIn(root);

function directives(headers: Headers): Record<string, string> {
  const policy = headers.get('content-security-policy') ?? '';
  return Object.fromEntries(policy.split('; ').map((directive) => directive.split(/ (.*)/s).slice(0, 2)));
}

function assertGuarded(headers: Headers, styles = "'self'"): void {
  const { 'form-action': target, 'script-src': script, 'connect-src': reach, ...others } = directives(headers);
  assert.equal(script ?? "'self'", "'self'", 'our own script, or none');
  assert.equal(reach, script);
  assert.deepEqual(others, {
    'default-src': "'none'",
    'style-src': styles,
    'img-src': "'self'",
    'font-src': "'self'",
    'object-src': "'none'",
    'base-uri': "'none'",
    'frame-ancestors': "'none'",
  });
  assert.match(target ?? '', /^'self'(?: |$)/);
  assert.equal(headers.get('x-frame-options'), 'DENY');
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('referrer-policy'), 'same-origin');
  assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin');
  assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin');
  assertNoFeatures(headers);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
  assert.equal(headers.get('access-control-allow-origin'), null);
  assert.equal(headers.get('server'), null);
  assert.equal(headers.get('x-powered-by'), null);
}

/** A page may use only one feature, passkeys, and no frame may. */
function assertNoFeatures(headers: Headers): void {
  const policy = headers.get('permissions-policy') ?? '';
  const features = Object.fromEntries(policy.split(', ').map((feature) => feature.split('=')));
  const { 'publickey-credentials-get': get, 'publickey-credentials-create': create, ...others } = features;
  assert.deepEqual([get, create], ['(self)', '(self)']);
  for (const feature of ['camera', 'microphone', 'geolocation', 'payment', 'usb', 'display-capture']) {
    assert.equal(others[feature], '()', feature);
  }
  for (const [feature, allowed] of Object.entries(others)) assert.match(allowed as string, /^\((?:self)?\)$/, feature);
}

const PAGES: [what: string, status: number, path: string][] = [
  ['the sign-in page', 200, '/sign-in'],
  ['the sign-out page', 200, '/sign-out'],
  ['the consent screen', 200, server.authorizeUrl()],
  ['the connected apps', 200, '/settings/connected-apps'],
  ['the page that connects an assistant', 200, '/settings/connected-apps/assistant'],
  ['the account page', 200, '/settings/account'],
  ['the audit log', 200, '/settings/audit-log'],
  ['the audit log of the platform', 200, '/platform/audit-log'],
  ['the members', 200, '/settings/members'],
  ['the form for an invitation', 200, '/settings/members/invite'],
  ['the open invitations', 200, '/settings/members/invitations'],
  ['a member', 200, `/settings/members/${server.ada.id}`],
  ['the confirmation before removing a member', 200, `/settings/members/${server.ada.id}/remove`],
  ['a link that does not work', 404, '/invitation/x'],
  ['the list of apps', 200, DEVELOPER],
  ['the form for a new app', 200, `${DEVELOPER}/new`],
  ['an app', 200, `${DEVELOPER}/${server.ledger.id}`],
  ['the confirmation before deleting', 200, `${DEVELOPER}/${server.ledger.id}/delete`],
  ['the list of platform apps', 200, PLATFORM],
  ['a platform app', 200, `${PLATFORM}/${platformApp.id}`],
  ['the confirmation before disabling', 200, `${DEVELOPER}/${server.ledger.id}/disable`],
  ['the requests of an app', 200, `${DEVELOPER}/${server.ledger.id}/requests`],
  ['the connections of an app', 200, `${DEVELOPER}/${server.ledger.id}/connections`],
  ['the webhooks of an app', 200, `${DEVELOPER}/${server.ledger.id}/endpoints`],
  ['all errors', 200, `${server.api}/docs/errors`],
  ['the page about an error', 200, `${server.api}/docs/errors/invalid_grant`],
  ['the page about an app that cannot be trusted', 400, server.authorizeUrl({ client_id: 'x' })],
  ['a consent address of an unknown app', 400, '/consent?client_id=x'],
  ['a page that is not there', 404, '/nowhere'],
  ['a page of the API host that is not there', 404, `${server.api}/nowhere`],
  ['an address that cannot be read', 400, '/%zz'],
];

for (const [what, status, path] of PAGES) {
  test(`${what} is small, runs only our scripts, and can be neither framed nor cached [C4] [C9]`, async () => {
    const page = await browser.open(path);

    assert.equal(page.status, status);
    assert.ok(Buffer.byteLength(page.text) < 50_000, `${page.text.length} characters`);
    assertGuarded(page.headers);
    assert.doesNotMatch(page.text, /<script(?! type="module" src="\/assets\/)|<style| style="| on\w+="|javascript:/);
    const withoutReference = page.text.replaceAll(`href="${server.api}/docs`, 'href="/docs');
    assert.doesNotMatch(withoutReference, /(?:src|href)="(?:https?:)?\/\//);
  });
}

test('the API reference allows its styles by a nonce, which is new each time [C4]', async () => {
  const pages = [await browser.open(`${server.api}/docs`), await browser.open(`${server.api}/docs`)];

  const nonces = pages.map(({ text }) => /<meta property="csp-nonce" content="([\w-]{22})">/.exec(text)?.[1]);
  assert.notEqual(nonces[0], nonces[1]);
  for (const [i, { headers, text }] of pages.entries()) {
    assertGuarded(headers, `'self' 'nonce-${nonces[i]}'`);
    assert.doesNotMatch(
      text,
      /<script(?! type="module" src="\/assets\/)|<style(?! nonce=)| style="| on\w+="|javascript:/,
    );
    assert.doesNotMatch(text, /(?:src|href)="(?:https?:)?\/\//);
  }
});

test('no script runs on the sign-out page or on an error page [C4]', async () => {
  for (const path of ['/sign-out', '/nowhere', server.authorizeUrl({ client_id: 'x' })]) {
    const { headers, text } = await browser.open(path);
    assert.equal(directives(headers)['script-src'], undefined);
    assert.doesNotMatch(text, /<script/);
  }
});

test('a rejected form has the same security headers as any page [C4]', async () => {
  const forged = await browser.post('/settings/account/password', {});
  const wrong = await server.browse().signIn(root.email, 'not the password');

  assert.equal(forged.status, 403);
  assert.equal(wrong.status, 401);
  for (const { headers } of [forged, wrong]) assertGuarded(headers);
});

test('only the pages of an authorization allow forms to redirect to the app [C4]', async () => {
  const consent = await browser.open(server.authorizeUrl());
  const signIn = await server.browse().open(server.authorizeUrl());
  const plain = await browser.open('/settings/account');

  assert.equal(directives(consent.headers)['form-action'], `'self' https://ledger.example ${server.api}`);
  assert.equal(directives(signIn.headers)['form-action'], `'self' https://ledger.example ${server.api}`);
  assert.equal(directives(plain.headers)['form-action'], "'self'");
});

test('an internal error is a page with security headers that reveals no details [C4] [X4]', async () => {
  const broken = await startTestServer();
  const visitor = await broken.signedIn();
  await sql`alter table sessions rename to lost`.execute(broken.storage().durable);

  const page = await visitor.open('/settings/account');

  assert.equal(page.status, 500);
  assertGuarded(page.headers);
  assert.doesNotMatch(page.text, /sessions|sqlite|no such|\.ts|at /i);
});

test('a database that cannot write gives a page with security headers that says to try again [C4]', async () => {
  const stuck = await startTestServer();
  const visitor = await stuck.signedIn();
  const page = await visitor.open('/settings/developer/new');
  const fields = { name: 'X', redirect_uris: 'https://x.example/', scope: 'read:deals' };

  const response = await withReadOnlyDatabase(stuck, () => visitor.submit(page, '/settings/developer', fields));

  assert.equal(response.status, 503);
  assertGuarded(response.headers);
  assert.ok(Number(response.headers.get('retry-after')) > 0);
});

test('stylesheet, font and icon are served by us, with a content type, and cached by the browser', async () => {
  const { text } = await browser.open('/sign-in');
  const [, stylesheet = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(text) ?? [];
  const [, font = ''] = /<link rel="preload" href="([^"]+)"/.exec(text) ?? [];

  for (const [path, type] of [
    [stylesheet, 'text/css'],
    [font, 'font/woff2'],
    ['/assets/icon.svg', 'image/svg+xml'],
  ] as const) {
    const response = await fetch(server.web + path);
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', new RegExp(`^${RegExp.escape(type)}`));
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(response.headers.get('cross-origin-resource-policy'), 'same-origin');
    assert.match(response.headers.get('cache-control') ?? '', /max-age=31536000, immutable/);

    const etag = response.headers.get('etag') ?? '';
    for (const [known, status] of [
      [etag, 304],
      [`"other", W/${etag.replace('W/', '')}`, 304],
      ['"other"', 200],
    ] as const) {
      for (const method of ['GET', 'HEAD']) {
        // A browser revalidates like this. Node's fetch would add `no-cache`.
        const headers = { 'if-none-match': known, 'cache-control': 'max-age=0' };
        const again = await fetch(server.web + path, { method, headers });
        assert.equal(again.status, status, `${method} ${known}`);
        const length = status === 200 ? response.headers.get('content-length') : null;
        assert.equal(again.headers.get('content-length'), length, `${method} ${known}`);
      }
    }
  }
});

test('no address below /assets leads out of that folder', async () => {
  for (const path of ['', '../sign-in.ts', '%2e%2e/sign-in.ts', '..%2fsign-in.ts', '__proto__', 'icon.svg/']) {
    const response = await fetch(`${server.web}/assets/${path}`);
    assert.ok([400, 403, 404].includes(response.status), `${path} ${response.status}`);
  }
});

test('under https every response of both hosts sends HSTS for over a year [D7]', async () => {
  const { api, web } = await startUnderHttps();
  const addresses = [
    `http://127.0.0.1:${web}/sign-in`,
    `http://127.0.0.1:${web}/`,
    `http://127.0.0.1:${web}/nowhere`,
    `http://127.0.0.1:${web}/%zz`,
    `http://127.0.0.1:${web}/assets/icon.svg`,
    `http://127.0.0.1:${api}/healthz`,
    `http://127.0.0.1:${api}/api/v1/accounting/invoices`,
    `http://127.0.0.1:${api}/api/v1/oauth/authorize`,
  ];

  for (const address of addresses) {
    const { headers } = await fetch(address, { redirect: 'manual' });
    const [, seconds] = /^max-age=(\d+); includeSubDomains$/.exec(headers.get('strict-transport-security') ?? '') ?? [];
    assert.ok(Number(seconds) >= 31_536_000, address);
  }
});

test('HSTS_INCLUDE_SUBDOMAINS=off leaves the subdomains of both hosts out of HSTS', async () => {
  const { api, web } = await startUnderHttps({ HSTS_INCLUDE_SUBDOMAINS: 'off' });

  for (const address of [`http://127.0.0.1:${web}/sign-in`, `http://127.0.0.1:${api}/healthz`]) {
    assert.equal((await fetch(address)).headers.get('strict-transport-security'), 'max-age=63072000', address);
  }
});

test('on a development machine without https, no response sends HSTS [D7]', async () => {
  assert.equal((await fetch(`${server.web}/sign-in`)).headers.get('strict-transport-security'), null);
});
