import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR } from '../../../src/lib/clock.ts';
import type { BrowserPage } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const platform = await server.addApp({ name: 'Console' });
let users = 0;
const newMember = () => server.addUser(`Person${++users}`, [[server.acme, 'member']]);

const isSignIn = (page: BrowserPage) => page.status === 200 && new URL(page.url).pathname === '/sign-in';
const isConsent = (page: BrowserPage) => page.status === 200 && new URL(page.url).pathname === '/consent';
const returnTo = (page: BrowserPage) => new URL(page.url).searchParams.get('return_to') ?? '';

test('without a session the user is redirected to /sign-in, and then back to the full authorize URL', async () => {
  const browser = server.browse();
  const changes = { scope: 'read:invoices read:contacts', extra: 'a b' };
  const signIn = await browser.open(server.authorizeUrl(changes));
  const page = await browser.signIn(server.ada.email, PASSWORD, signIn);

  assert.ok(isSignIn(signIn));
  const kept = new URLSearchParams(returnTo(signIn).split('?')[1]);
  for (const [name, value] of new URL(server.authorizeUrl(changes)).searchParams) assert.equal(kept.get(name), value);
  assert.ok(isConsent(page));
});

test('prompt=none without a session returns login_required and shows nothing [A18]', async () => {
  const response = await server.browse().open(server.authorizeUrl({ prompt: 'none' }));

  assert.equal(response.status, 303);
  const { error_description, error_uri, ...rest } = redirectParams(response.leftTo?.href);
  assert.deepEqual(rest, { error: 'login_required', reason: 'login_required', state: 'state-1', iss: server.api });
  assert.equal(error_uri, `${server.api}/docs/errors/login_required#login_required`);
  assert.ok(error_description);
});

test('prompt=none with a session but without consent returns consent_required [A18]', async () => {
  const browser = await server.signedIn(await newMember());
  const response = await browser.open(server.authorizeUrl({ prompt: 'none' }));
  const { error, state, iss } = redirectParams(response.leftTo?.href);

  assert.deepEqual({ error, state, iss }, { error: 'consent_required', state: 'state-1', iss: server.api });
});

test('prompt=none with a session and consent gives a code, and new scopes are consent_required [A18]', async () => {
  const browser = await server.signedIn(await newMember());
  await server.allow({}, browser);

  const silent = await browser.open(server.authorizeUrl({ prompt: 'none' }));
  const wider = await browser.open(server.authorizeUrl({ prompt: 'none', scope: 'read:invoices read:contacts' }));

  assert.ok(redirectParams(silent.leftTo?.href).code);
  assert.equal(redirectParams(wider.leftTo?.href).error, 'consent_required');
});

test('prompt=none gives a platform app a code if a user is signed in [A18]', async () => {
  const url = server.authorizeUrl({ client_id: platform.id, prompt: 'none' });

  const signedOut = await server.browse().open(url);
  const someone = await (await server.signedIn(await newMember())).open(url);

  assert.equal(redirectParams(signedOut.leftTo?.href).error, 'login_required');
  assert.ok(redirectParams(someone.leftTo?.href).code);
});

test('prompt=login asks for the password exactly once, even with a session, and then continues [A19]', async () => {
  const member = await newMember();
  const browser = await server.signedIn(member);
  server.advanceClock(1000);

  const signIn = await browser.open(server.authorizeUrl({ prompt: 'login' }));
  server.advanceClock(1000);
  const page = await browser.signIn(member.email, PASSWORD, signIn);
  const response = await browser.submit(page, '/consent', { decision: 'allow' });

  assert.ok(isSignIn(signIn));
  assert.ok(isConsent(page));
  assert.ok(redirectParams(response.leftTo?.href).code);
});

test('prompt=login asks for the password at each request, even if no consent is needed [A19]', async () => {
  const member = await newMember();
  const browser = await server.signedIn(member);
  await server.allow({}, browser);
  for (const client_id of [server.ledger.id, platform.id]) {
    server.advanceClock(1000);
    const signIn = await browser.open(server.authorizeUrl({ client_id, prompt: 'login' }));
    const response = await browser.signIn(member.email, PASSWORD, signIn);

    assert.ok(isSignIn(signIn));
    assert.ok(redirectParams(response.leftTo?.href).code);
  }
});

test('prompt=login without a session asks for the password exactly once [A19]', async () => {
  const browser = server.browse();
  const signIn = await browser.open(server.authorizeUrl({ prompt: 'login', client_id: platform.id }));
  const response = await browser.signIn(server.ada.email, PASSWORD, signIn);

  assert.ok(isSignIn(signIn));
  assert.ok(redirectParams(response.leftTo?.href).code);
});

test('prompt=login cannot be bypassed by a stamp that is removed, forged, copied or old [A19]', async () => {
  const member = await newMember();
  const browser = await server.signedIn(member);
  await server.allow({}, browser);
  const before = await browser.open(server.authorizeUrl({ prompt: 'login', state: 'earlier' }));
  server.advanceClock(1000);
  const stamped = returnTo(await browser.open(server.authorizeUrl({ prompt: 'login' })));
  const [, query, signature] = /^\/consent\?(.*)&asked=\d+\.([\w-]+)$/.exec(stamped) ?? [];
  const elsewhere = /&asked=\d+\.[\w-]+$/.exec(before.url)?.[0] ?? '';

  assert.notEqual(elsewhere, '');
  for (const stamp of ['', `&asked=1.${signature}`, `&asked=${server.clock() - 5000}.${'A'.repeat(43)}`, elsewhere]) {
    assert.ok(isSignIn(await browser.open(`/consent?${query}${stamp}`)), stamp);
  }
  server.advanceClock(2 * HOUR);
  await browser.signIn(member.email, PASSWORD);
  server.advanceClock(1000);
  assert.ok(isSignIn(await browser.open(stamped)), 'a stamp is valid for an hour');
});
