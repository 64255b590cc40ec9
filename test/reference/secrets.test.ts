import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { sql } from 'kysely';
import { hiddenFields } from '../support/browser.ts';
import { PASSWORD, REDIRECT_URI } from '../support/fixtures.ts';
import { inviteInBrowser } from '../support/invitations.ts';
import { startLoggedServer } from './logged-server.ts';
import { type RawResponse, write } from './raw.ts';

const server = await startLoggedServer();
const { api, web, ledger } = server;
const browser = server.browse();
const VERIFIER = 'a-verifier-that-only-this-test-of-secrets-uses-here';
const TYPED_WRONG = 'correct horse batttery';
const TOKEN = `${api}/api/v1/oauth/token`;
const INVOICES = `${api}/api/v1/accounting/invoices`;

/** The secrets that this test uses, by kind. */
const secrets = new Map<string, string>([
  ['the password', PASSWORD],
  ['the password, as forms have it', encodeURIComponent(PASSWORD)],
  ['a password with a slip in it', TYPED_WRONG],
  ['the client secret', ledger.secret],
  ['the credentials in HTTP Basic', btoa(`${ledger.id}:${ledger.secret}`)],
  ['the verifier', VERIFIER],
]);

/** The error responses of the server. */
const errors: string[] = [];

async function keepRefusal({ status, headers, text }: RawResponse, expected: number): Promise<void> {
  assert.equal(status, expected, text);
  errors.push(`${JSON.stringify([...headers])} ${text}`);
}

async function send(url: string, init: RequestInit = {}): Promise<RawResponse> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const json = (fields: object) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(fields),
});
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

function known(name: string): string {
  const secret = secrets.get(name);
  assert.ok(secret, name);
  return secret;
}

async function connect(): Promise<void> {
  const form = await browser.open('/sign-in');
  const slip = await browser.submit(form, '/sign-in', { email: server.ada.email, password: TYPED_WRONG });
  assert.equal(slip.status, 401);
  assert.equal(slip.text.includes(TYPED_WRONG), false);
  await browser.signIn(server.ada.email, PASSWORD);
  const code_challenge = createHash('sha256').update(VERIFIER).digest('base64url');
  const page = await browser.open(server.authorizeUrl({ code_challenge, code_challenge_method: 'S256' }));
  const { consent_state = '', csrf = '' } = hiddenFields(page.text, '/consent');
  const code = (await browser.submit(page, '/consent', { decision: 'allow' })).leftTo?.searchParams.get('code') ?? '';
  const first = await server.exchange(code, { code_verifier: VERIFIER });
  const second = await server.refresh(first.body.refresh_token);
  assert.equal(second.status, 200);
  secrets.set('the signed consent state', consent_state).set('the CSRF token', csrf).set('the code', code);
  for (const [name, { body }] of Object.entries({ first, second })) {
    secrets.set(`the ${name} access token`, body.access_token).set(`the ${name} refresh token`, body.refresh_token);
  }
  for (const [name, value] of browser.cookies) secrets.set(`the cookie ${name}`, value);
}

/** Requests that send a valid secret in a wrong parameter or to a wrong endpoint. */
async function misplace(): Promise<void> {
  const [access, refresh, code] = ['second access token', 'second refresh token', 'code'].map((name) =>
    known(`the ${name}`),
  );
  assert.ok(access && refresh && code);
  const app = server.credentials;
  const refreshing = { grant_type: 'refresh_token', ...app };
  await keepRefusal(await send(`${INVOICES}?access_token=${access}`, bearer(access)), 400);
  await keepRefusal(await send(INVOICES, bearer(refresh)), 401);
  await keepRefusal(await send(INVOICES, bearer(`${access} ${refresh}`)), 401);
  await keepRefusal(await send(INVOICES, { headers: { ...bearer(access).headers, 'x-business-id': access } }), 400);
  await keepRefusal(await send(TOKEN, json({ ...refreshing, refresh_token: code })), 400);
  await keepRefusal(await send(TOKEN, json({ ...app, grant_type: refresh })), 400);
  await keepRefusal(await send(TOKEN, json({ ...refreshing, refresh_token: refresh, scope: refresh })), 400);
  await keepRefusal(await send(TOKEN, json({ ...refreshing, client_id: ledger.secret, refresh_token: refresh })), 401);
  await keepRefusal(await send(TOKEN, { ...json({}), body: `{"refresh_token":"${refresh}"` }), 400);
  await keepRefusal(await send(TOKEN, { ...json({}), body: `{"token":"${refresh}","token":"${refresh}"}` }), 400);
  await keepRefusal(await send(`${TOKEN}?client_secret=${ledger.secret}`), 405);
  await keepRefusal(await send(`${api}/api/v1/${access}`), 404);
  await keepRefusal(await send(`${api}/docs/errors/${refresh.slice(0, 90)}`), 404);
  await keepRefusal(await send(`${web}/${code}`), 404);
  await keepRefusal(await send(`${web}/%zz${code}`), 400);
  await keepRefusal(await write(api, `${refresh}\r\nAuthorization: Bearer ${access}\r\n\r\n`), 400);
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: VERIFIER };
  const again = {
    ...json(exchange),
    headers: { 'content-type': 'application/json', authorization: `Basic ${known('the credentials in HTTP Basic')}` },
  };
  await keepRefusal(await send(TOKEN, again), 400);
}

/** A link whose URL contains the secret. */
async function invite(): Promise<void> {
  const link = await inviteInBrowser(browser);
  secrets.set('the link of an invitation', link.replace('/invitation/', ''));
  await browser.open(link);
  await keepRefusal(await send(web + link, { method: 'POST' }), 403);
  await keepRefusal(await send(web + link, { method: 'PUT' }), 404);
  await keepRefusal(await send(`${web}${link}/more`), 404);
}

/** A link to set a password, which also contains its secret. */
async function makePasswordLink(): Promise<void> {
  const colleague = await server.addUser('Colleague', [[server.acme, 'member']]);
  const page = await browser.open(`/settings/members/${colleague.id}`);
  const { text } = await browser.submit(page, `/settings/members/${colleague.id}/password-link`);
  const [, token = ''] = /\/password\/([\w-]{43})</.exec(text) ?? [];
  secrets.set('the link to set a password', token);
  await browser.open(`/password/${token}`);
  await keepRefusal(await send(`${web}/password/${token}`, { method: 'POST' }), 403);
  await keepRefusal(await send(`${web}/password/${token}`, { method: 'PUT' }), 404);
  await keepRefusal(await send(`${web}/password/${token}/more`), 404);
}

/** Internal errors are logged completely, with the message of the database. */
async function breakDown(): Promise<void> {
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
  const refresh_token = known('the second refresh token');
  const { durable } = server.storage;
  await sql`alter table grants rename to mislaid`.execute(durable);
  await keepRefusal(
    await send(TOKEN, json({ grant_type: 'refresh_token', refresh_token, ...server.credentials })),
    500,
  );
  await keepRefusal(await send(`${web}/businesses/${server.acme.id}/connected-apps`, { headers: { cookie } }), 500);
  await sql`alter table mislaid rename to grants`.execute(durable);
}

test('no code, token, secret, cookie or password that was used is in the log or in an error [X4]', async () => {
  await connect();
  await misplace();
  await invite();
  await makePasswordLink();
  await breakDown();

  const log = (await server.readLog()).join('\n');

  assert.ok(secrets.size >= 14, [...secrets.keys()].join());
  assert.match(log, /"level":50/, 'the failures are in the log');
  assert.ok(log.split('\n').length > 30);
  for (const [name, secret] of secrets) {
    assert.ok(secret.length >= 16, name);
    assert.equal(log.includes(secret), false, `${name} is in the log`);
    const telling = errors.filter((error) => error.includes(secret));
    assert.deepEqual(telling, [], `${name} stands in a refusal`);
  }
});
