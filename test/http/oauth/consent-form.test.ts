import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR } from '../../../src/lib/clock.ts';
import { parseScopes } from '../../../src/lib/scope-lists.ts';
import { type Browser, type BrowserPage, hiddenFields } from '../../support/browser.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { countGrants, readGrant } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
let users = 0;
const newMember = () => server.addUser(`Person${++users}`, [[server.acme, 'member']]);

async function openConsent() {
  const user = await newMember();
  const browser = await server.signedIn(user);
  return { user, browser, page: await browser.open(server.authorizeUrl()) };
}

const allow = (browser: Browser, page: BrowserPage, fields: Record<string, string> = {}, headers = {}) =>
  browser.submit(page, '/consent', { decision: 'allow', ...fields }, headers);

async function assertRejected(work: () => Promise<BrowserPage>) {
  const before = await countGrants(server);
  const response = await work();
  assert.equal(response.leftTo, undefined, `${response.leftTo}`);
  assert.ok([200, 400, 403].includes(response.status), `${response.status}`);
  assert.equal(await countGrants(server), before);
}

function tampered(signed: string, change: (state: Record<string, unknown>) => object): string {
  const [text = '', signature] = signed.split('.');
  const state = JSON.parse(Buffer.from(text, 'base64url').toString());
  return `${Buffer.from(JSON.stringify(change(state))).toString('base64url')}.${signature}`;
}

test('a double click on Allow gives one grant and one code [C1]', async () => {
  const { browser, page } = await openConsent();
  const before = await countGrants(server);

  const responses = await Promise.all([allow(browser, page), allow(browser, page), allow(browser, page)]);

  const codes = responses.map(({ leftTo }) => redirectParams(leftTo?.href).code);
  assert.match(codes[0] ?? '', /^gac_/);
  assert.equal(new Set(codes).size, 1);
  assert.equal(await countGrants(server), before + 1);
});

test('a consent form shown to one user cannot be submitted by another [C2]', async () => {
  const { page } = await openConsent();
  const mallory = await openConsent();
  const { csrf = '' } = hiddenFields(mallory.page.text, '/consent');

  await assertRejected(() => allow(mallory.browser, page, { csrf }));
});

test('a consent form cannot be submitted from another browser of the same user [C2]', async () => {
  const { user, page } = await openConsent();
  const elsewhere = await server.signedIn(user);
  const { csrf = '' } = hiddenFields((await elsewhere.open(server.authorizeUrl())).text, '/consent');

  await assertRejected(() => allow(elsewhere, page, { csrf }));
});

test('a consent form cannot be submitted after signing out, or in a later session of the same browser [C2]', async () => {
  const { user, browser, page } = await openConsent();
  await browser.submit(await browser.open('/settings/account'), '/sign-out');

  await assertRejected(() => allow(browser, page));
  await browser.signIn(user.email, 'correct horse battery');
  await assertRejected(() => allow(browser, page));
});

test('Allow needs the form’s own CSRF token and the origin of our pages [C1]', async () => {
  const { browser, page } = await openConsent();

  for (const csrf of ['', 'x'.repeat(43)]) await assertRejected(() => allow(browser, page, { csrf }));
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: server.api },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    await assertRejected(() => allow(browser, page, {}, headers));
  }
  assert.ok(redirectParams((await allow(browser, page, {}, { origin: server.web })).leftTo?.href).code);
});

test('a consent form that was tampered with is rejected [C3]', async () => {
  const { browser, page } = await openConsent();
  const beta = await server.addBusiness('Beta');
  const { consent_state = '' } = hiddenFields(page.text, '/consent');
  const widened = server.authorizeUrl({ scope: 'read:invoices write:invoices' }).split('?')[1];

  for (const forged of [
    tampered(consent_state, (state) => ({ ...state, query: widened })),
    tampered(consent_state, (state) => ({ ...state, businessId: beta.id })),
    tampered(consent_state, (state) => ({ ...state, shownAt: 0 })),
    consent_state.slice(0, -1),
    `${consent_state}A`,
    consent_state.split('.')[0] ?? '',
    '.',
    '',
  ]) {
    await assertRejected(() => allow(browser, page, { consent_state: forged }));
  }
});

test('fields added to the form do not change what is granted [C3]', async () => {
  const { user, browser, page } = await openConsent();
  const other = await newMember();
  const fields = {
    scope: 'write:invoices',
    client_id: 'other',
    redirect_uri: 'https://evil.example/',
    state: 'other',
    user: other.id,
    business: 'other',
  };

  const response = await allow(browser, page, fields);

  const { code = '', state } = redirectParams(response.leftTo?.href);
  const grant = await readGrant(server, code);
  assert.equal(response.leftTo?.host, 'ledger.example');
  assert.equal(state, 'state-1');
  assert.deepEqual(parseScopes(grant.scopes), ['read:invoices']);
  assert.deepEqual([grant.app_id, grant.user_id, grant.business_id], [server.ledger.id, user.id, server.acme.id]);
});

test('opening the consent page grants nothing [C1]', async () => {
  const { browser } = await openConsent();
  const before = await countGrants(server);

  const page = await browser.open(`${server.authorizeUrl()}&decision=allow`);

  assert.equal(page.status, 200);
  assert.equal(await countGrants(server), before);
});

test('a consent form submitted after more than an hour is shown again', async () => {
  const { browser, page } = await openConsent();
  const before = await countGrants(server);
  server.advanceClock(HOUR);

  const again = await allow(browser, page);

  assert.equal(again.status, 200);
  assert.match(again.text, /<strong><bdi>Ledger<\/bdi><\/strong> wants to access/);
  assert.equal(await countGrants(server), before);
  assert.ok(redirectParams((await allow(browser, again)).leftTo?.href).code);
});
