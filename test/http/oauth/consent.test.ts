import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseScopes } from '../../../src/lib/scope-lists.ts';
import type { BrowserPage } from '../../support/browser.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { countGrants, readGrant } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
let users = 0;
const newMember = () => server.addUser(`Person${++users}`, [[server.acme, 'member']]);
const arrive = async () => server.signedIn(await newMember());
const WIDE = 'read:invoices write:invoices read:contacts';

/** The scopes of a page in words, and those that it marks as new. */
function scopesOn({ text }: BrowserPage) {
  const items = [...text.matchAll(/<\/svg><span>([^<]*?) (<span class="new">New<\/span>)?<\/span><\/li>/g)];
  return { all: items.map(([, words]) => words), fresh: items.filter(([, , mark]) => mark).map(([, words]) => words) };
}

async function disconnect(browser: Awaited<ReturnType<typeof arrive>>) {
  const page = await browser.open('/settings/connected-apps');
  return browser.submit(page, '/settings/connected-apps/disconnect');
}

test('the screen names the app, its redirect host, each scope in words, the business and the user [C5]', async () => {
  const member = await newMember();
  const browser = await server.signedIn(member);
  const page = await browser.open(server.authorizeUrl({ scope: WIDE }));

  assert.equal(page.status, 200);
  assert.match(
    page.text,
    /<h1><strong><bdi>Ledger<\/bdi><\/strong> wants to access <strong><bdi>Acme<\/bdi><\/strong><\/h1>/,
  );
  assert.match(page.text, /<strong>ledger\.example<\/strong>/);
  assert.match(page.text, new RegExp(member.name));
  assert.match(page.text, new RegExp(member.email));
  assert.deepEqual(scopesOn(page).all.sort(), [
    'Create, update and send invoices',
    'View CRM contacts and companies',
    'View invoices, line items and payment status',
  ]);
  assert.match(page.text, />Allow<\/button>/);
  assert.match(page.text, />Deny<\/button>/);
});

test('a name that an app chose is shown as text, never as markup [S17]', async () => {
  const app = await server.addApp({ name: '<img src=x onerror=alert(1)>"', ownerBusinessId: server.acme.id });
  const page = await (await arrive()).open(server.authorizeUrl({ client_id: app.id }));

  assert.equal(page.status, 200);
  assert.doesNotMatch(page.text, /<img/);
  assert.match(page.text, /&lt;img src=x onerror=alert\(1\)&gt;&quot;/);
});

test('the screen cannot be framed or scripted, and its form can be sent only to this host and the app [C4][C9]', async () => {
  const { headers, text } = await (await arrive()).open(server.authorizeUrl());
  const policy = new Map(
    (headers.get('content-security-policy') ?? '').split('; ').map((part) => {
      const [name = '', ...sources] = part.split(' ');
      return [name, sources];
    }),
  );

  for (const name of ['default-src', 'object-src', 'base-uri', 'frame-ancestors']) {
    assert.deepEqual(policy.get(name), ["'none'"], name);
  }
  assert.deepEqual(policy.get('form-action'), ["'self'", 'https://ledger.example', server.api]);
  assert.deepEqual(policy.get('script-src'), ["'self'"]);
  assert.doesNotMatch(text, /<script(?! type="module" src="\/assets\/)/, 'no script but our own');
  assert.equal(headers.get('x-frame-options'), 'DENY');
  assert.match(headers.get('referrer-policy') ?? '', /^(same-origin|no-referrer)$/);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.doesNotMatch(text, /(src|href)="(https?:)?\/\//, 'nothing is loaded from elsewhere');
});

test('Deny returns access_denied with state and iss, and issues nothing [C6]', async () => {
  const browser = await arrive();
  const before = await countGrants(server);
  const page = await browser.open(server.authorizeUrl());
  const response = await browser.submit(page, '/consent', { decision: 'deny' });

  const { error, state, iss, code } = redirectParams(response.leftTo?.href);
  assert.deepEqual(
    { error, state, iss, code },
    { error: 'access_denied', state: 'state-1', iss: server.api, code: undefined },
  );
  assert.equal(await countGrants(server), before);
  assert.equal((await browser.open(server.authorizeUrl())).status, 200, 'the next request shows the screen again');
});

test('Allow issues a code for exactly the requested scopes, with state and iss', async () => {
  const response = await server.authorize({ scope: 'read:contacts read:invoices' }, await arrive());
  const { code = '', ...rest } = redirectParams(response.leftTo?.href);

  assert.deepEqual(rest, { state: 'state-1', iss: server.api });
  assert.deepEqual(parseScopes((await readGrant(server, code)).scopes), ['read:invoices', 'read:contacts']);
});

test('consent is remembered: the same scopes, or fewer, need no new consent', async () => {
  const browser = await arrive();
  await server.allow({ scope: 'read:invoices read:contacts' }, browser);

  const same = await browser.open(server.authorizeUrl({ scope: 'read:contacts read:invoices' }));
  const fewer = await browser.open(server.authorizeUrl({ scope: 'read:contacts' }));

  assert.ok(redirectParams(same.leftTo?.href).code);
  const tokens = await server.exchange(redirectParams(fewer.leftTo?.href).code ?? '');
  assert.equal(tokens.body.scope, 'read:contacts', 'a remembered consent does not widen a request');
});

test('scopes that are not allowed yet need consent, the screen marks them as new, and nothing widens silently [C7]', async () => {
  const browser = await arrive();
  await server.allow({ scope: 'read:invoices' }, browser);

  const page = await browser.open(server.authorizeUrl({ scope: WIDE }));

  assert.equal(page.status, 200);
  assert.equal(scopesOn(page).all.length, 3);
  assert.deepEqual(scopesOn(page).fresh.sort(), [
    'Create, update and send invoices',
    'View CRM contacts and companies',
  ]);
});

test('prompt=none with a new scope is consent_required, whatever was allowed before [C7]', async () => {
  const browser = await arrive();
  await server.allow({ scope: 'read:invoices' }, browser);

  for (const scope of [WIDE, 'read:invoices read:contacts', 'read:contacts']) {
    const response = redirectParams((await browser.open(server.authorizeUrl({ scope, prompt: 'none' }))).leftTo?.href);
    assert.deepEqual([response.error, response.code], ['consent_required', undefined], scope);
  }
});

test('on a first authorisation nothing is marked as new', async () => {
  const page = await (await arrive()).open(server.authorizeUrl({ scope: WIDE }));

  assert.deepEqual(scopesOn(page).fresh, []);
  assert.doesNotMatch(page.text, /You have allowed this app before/);
});

test('consents add up, and a denied addition adds nothing [C7]', async () => {
  const browser = await arrive();
  await server.allow({ scope: 'read:invoices' }, browser);
  const addition = await browser.open(server.authorizeUrl({ scope: 'read:contacts' }));
  await browser.submit(addition, '/consent', { decision: 'deny' });
  assert.equal((await browser.open(server.authorizeUrl({ scope: 'read:contacts' }))).status, 200);

  await server.allow({ scope: 'read:contacts' }, browser);

  const both = await browser.open(server.authorizeUrl({ scope: 'read:invoices read:contacts' }));
  assert.ok(redirectParams(both.leftTo?.href).code);
});

test('consent is remembered per user', async () => {
  await server.allow({}, await arrive());

  assert.equal((await (await arrive()).open(server.authorizeUrl())).status, 200);
});

test('consent is remembered per app', async () => {
  const browser = await arrive();
  await server.allow({}, browser);
  const other = await server.addApp({ name: 'Other', ownerBusinessId: server.acme.id });

  assert.equal((await browser.open(server.authorizeUrl({ client_id: other.id }))).status, 200);
});

test('disconnecting removes the consent and ends the tokens, and the next authorization is like the first', async () => {
  const browser = await arrive();
  const tokens = await server.connect({ scope: 'read:invoices' }, browser);
  await disconnect(browser);

  const page = await browser.open(server.authorizeUrl({ scope: WIDE }));

  assert.equal(page.status, 200);
  assert.deepEqual(scopesOn(page).fresh, []);
  assert.equal((await server.listInvoices(tokens.access_token)).status, 401);
});
