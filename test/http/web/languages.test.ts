import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setLanguage } from '../../../src/accounts/users.ts';
import type { BrowserPage } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';
import { addTwoStepUser, enterCode } from '../../support/two-step.ts';

const server = await startTestServer();
const GERMAN = { 'accept-language': 'de-DE,de;q=0.9,en;q=0.8' };

function languageOf({ text }: BrowserPage): string {
  return /<html lang="([^"]*)" dir="ltr">/.exec(text)?.[1] ?? 'none';
}

test('an app that asks for German gets German pages from sign-in to consent, and a token', async () => {
  const browser = server.browse();
  const signIn = await browser.open(server.authorizeUrl({ ui_locales: 'de-AT' }));
  assert.equal(languageOf(signIn), 'de');
  assert.match(signIn.text, /<title>Anmelden · /);
  assert.match(signIn.text, /weiter zu <bdi>Ledger<\/bdi>/);

  const wrong = await browser.signIn(server.ada.email, 'not the password', signIn);
  assert.equal(languageOf(wrong), 'de');
  assert.match(wrong.text, /Die E-Mail-Adresse oder das Passwort ist falsch\./);

  const consent = await browser.signIn(server.ada.email, PASSWORD, wrong);
  assert.equal(languageOf(consent), 'de');
  assert.match(consent.text, /<title>Ledger möchte auf Acme zugreifen · /);
  assert.match(consent.text, /Rechnungen, Rechnungspositionen und Zahlungsstatus ansehen/);
  assert.match(consent.text, /Registriert am <time datetime="2030-01-01" data-precise="day">01\.01\.2030<\/time>/);

  const allowed = await browser.submit(consent, '/consent', { decision: 'allow' });
  const { body } = await server.exchange(redirectParams(allowed.leftTo?.href).code ?? '');
  assert.equal(body.scope, 'read:invoices');
});

test('a form that is shown again stays in the language that the app requested', async () => {
  const browser = await server.signedIn();
  const request = { ui_locales: 'de', scope: 'read:contacts', optional_scope: 'read:contacts' };
  const page = await browser.open(server.authorizeUrl(request));

  const again = await browser.submit(page, '/consent', { decision: 'allow', optional_scope: [] });

  assert.equal(languageOf(again), 'de');
  assert.match(again.text, /Wählen Sie mindestens eine Berechtigung aus/);
});

test('a sign-in page without a page to return to keeps its language after a wrong password, and in the second step', async () => {
  const { user, freshCode } = await addTwoStepUser(server, 'Till');
  const browser = server.browse();
  const signIn = await browser.open('/sign-in?ui_locales=de');

  const wrong = await browser.signIn(user.email, 'not the password', signIn);
  const step = await browser.signIn(user.email, PASSWORD, wrong);
  const wrongCode = await enterCode(browser, step, '000000');

  assert.deepEqual([wrong, step, wrongCode].map(languageOf), ['de', 'de', 'de']);
  const done = await enterCode(browser, wrongCode, freshCode());
  assert.match(done.url, /\/connected-apps$/);
});

test("without `ui_locales`, the user's setting decides, then the browser", async () => {
  const eve = await server.addUser('Eve', [[server.acme, 'member']]);
  const consentIn = async (headers: Record<string, string>, request: Record<string, string> = {}) => {
    const browser = server.browse(headers);
    browser.cookies.set('__Host-session', await server.startSession(eve));
    return languageOf(await browser.open(server.authorizeUrl(request)));
  };
  assert.equal(await consentIn({}), 'en');
  assert.equal(await consentIn(GERMAN), 'de');

  await setLanguage(server.storage().durable, eve.id, 'en');
  assert.equal(await consentIn(GERMAN), 'en');
  assert.equal(await consentIn({}, { ui_locales: 'de' }), 'de');

  await setLanguage(server.storage().durable, eve.id, 'de');
  assert.equal(await consentIn({}), 'de');
  assert.equal(await consentIn(GERMAN, { ui_locales: 'en' }), 'en');
});

test('an unknown, repeated or hostile `ui_locales` is no error', async () => {
  const url = server.authorizeUrl();
  for (const requested of ['tlh', '%00', 'de-'.repeat(2000), '%3Cscript%3E', 'en&ui_locales=de']) {
    const page = await server.browse().open(`${url}&ui_locales=${requested}`);
    assert.equal(page.status, 200, requested.slice(0, 20));
    assert.equal(languageOf(page), 'en', requested.slice(0, 20));
  }
});

test('error pages are in the language of the reader, on both hosts', async () => {
  const unknown = await server.browse().open(server.authorizeUrl({ client_id: 'nobody', ui_locales: 'de' }));
  assert.equal(unknown.status, 400);
  assert.equal(languageOf(unknown), 'de');
  assert.match(unknown.text, /Diese App kann nicht verbunden werden/);

  const missing = await server.browse(GERMAN).open('/nowhere');
  assert.equal(missing.status, 404);
  assert.match(missing.text, /Seite nicht gefunden/);

  const forged = await server.browse(GERMAN).post('/sign-in', { email: '', password: '' });
  assert.equal(forged.status, 403);
  assert.match(forged.text, /Nicht erlaubt/);
});

test('the dashboard is in English, and its error pages are, too', async () => {
  const browser = server.browse(GERMAN);
  browser.cookies.set('__Host-session', await server.startSession(server.ada));

  const account = await browser.open('/settings/account');

  assert.equal(languageOf(account), 'en');
});

test('errors for apps are in English', async () => {
  const page = await server.browse(GERMAN).open(server.authorizeUrl({ response_type: 'token', ui_locales: 'de' }));

  assert.match(page.leftTo?.searchParams.get('error_description') ?? '', /^Only response_type=code is supported/);
});

test('users choose a language on the account page, and can reset it', async () => {
  const ben = await server.addUser('Ben', [[server.acme, 'member']]);
  const browser = await server.signedIn(ben);
  const choose = async (language: string) =>
    browser.submit(await browser.open('/settings/account'), '/settings/account/language', { language });
  const consent = async () => languageOf(await browser.open(server.authorizeUrl()));

  assert.match((await choose('de')).text, /<option value="de" lang="de" selected>Deutsch<\/option>/);
  assert.equal(await consent(), 'de');
  assert.equal((await choose('tlh')).status, 404);
  assert.equal(await consent(), 'de');
  await choose('');
  assert.equal(await consent(), 'en');
});

test('an invitation, its errors and a new password are in the language of the browser', async () => {
  const path = await inviteInBrowser(await server.signedIn());
  const page = await server.browse(GERMAN).open(path);
  assert.equal(languageOf(page), 'de');
  assert.match(page.text, /<bdi>Acme<\/bdi> beitreten/);

  const browser = server.browse(GERMAN);
  const weak = await browser.submit(await browser.open(path), `${path}/account`, {
    name: 'Eda',
    password: 'short',
  });
  assert.match(weak.text, /Verwenden Sie mindestens 8 Zeichen\./);
  assert.match((await server.browse(GERMAN).open('/invitation/unknown')).text, /Dieser Link funktioniert nicht/);
  assert.match((await server.browse(GERMAN).open('/password/unknown')).text, /Ein Link für ein neues Passwort/);
  assert.match((await server.browse(GERMAN).open('/password')).text, /Passwort vergessen\?/);
});
