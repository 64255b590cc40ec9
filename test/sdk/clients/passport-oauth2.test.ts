import assert from 'node:assert/strict';
import { test } from 'node:test';
import OAuth2Strategy from 'passport-oauth2';
import { HOUR } from '../../../src/lib/clock.ts';
import { type Browser, createBrowser } from '../../support/browser.ts';
import { freePort } from '../../support/ports.ts';
import { startTestServer } from '../../support/test-server.ts';
import { type ExpressApp, startExpressApp } from './express-app.ts';
import { decide } from './visitor.ts';

const server = await startTestServer();
await server.addInvoice(server.acme, { number: 'INV-2001', total: '99.90' });

interface Setup {
  /** How the app sends its credentials: passport-oauth2 puts them into the body, and accepts extra headers. */
  by?: 'body' | 'basic';
  secret?: string;
  scope?: string;
}

/** An Express app on a free port, registered with the address of its callback. */
async function newExpressApp({ by = 'body', secret, scope }: Setup = {}): Promise<ExpressApp> {
  const port = await freePort();
  const redirectUris = [`http://127.0.0.1:${port}/callback`];
  const app = await server.addApp({ redirectUris, ownerBusinessId: server.acme.id, requiresPkce: true });
  const used = { api: server.api, clientID: app.id, clientSecret: secret ?? app.secret, port, scope };
  if (by === 'body') return startExpressApp(used);
  const authorization = `Basic ${Buffer.from(`${app.id}:${used.clientSecret}`).toString('base64')}`;
  return startExpressApp({ ...used, clientSecret: '', customHeaders: { Authorization: authorization } });
}

/** One person's browser. It has separate cookies for the app and for Gatehouse. */
interface Person {
  atApp: Browser;
  atGatehouse: Browser;
}

const newPerson = ({ origin }: ExpressApp): Person => ({
  atApp: createBrowser(origin, [origin]),
  atGatehouse: server.browse(),
});

/** Follows the app's sign-in link until the flow returns to the app. */
async function signInWithGatehouse({ atApp, atGatehouse }: Person, decision: 'allow' | 'deny' = 'allow') {
  const { leftTo } = await atApp.open('/login');
  assert.ok(leftTo);
  const back = await decide(server, leftTo, decision, atGatehouse);
  return { sent: leftTo.searchParams, back: back.searchParams, page: await atApp.open(back.href) };
}

for (const by of ['body', 'basic'] as const) {
  test(`a person signs in to an Express app through Passport, which sends its credentials by ${by}, and sees their invoices`, async () => {
    const app = await newExpressApp({ by });

    const { sent, back, page } = await signInWithGatehouse(newPerson(app));

    assert.deepEqual(app.errors, []);
    assert.equal(page.url, `${app.origin}/`);
    assert.equal(page.text, 'Acme: INV-2001');
    assert.equal(sent.get('code_challenge_method'), 'S256');
    assert.equal(back.get('state'), sent.get('state'));
    assert.equal(back.get('iss'), server.api);
  });

  test(`an hour later the Express app refreshes by ${by}, and the page is the same`, async () => {
    const app = await newExpressApp({ by });
    const person = newPerson(app);
    await signInWithGatehouse(person);
    const [before] = [...app.accounts.values()].map(({ refreshToken }) => refreshToken);
    server.advanceClock(HOUR);

    const page = await person.atApp.open('/');

    const [now] = [...app.accounts.values()].map(({ refreshToken }) => refreshToken);
    assert.equal(page.text, 'Acme: INV-2001');
    assert.notEqual(now, before);
  });

  test(`a wrong secret by ${by} reaches the Express app as a token error of Passport`, async () => {
    const app = await newExpressApp({ by, secret: 'gcs_wrong' });

    const { page } = await signInWithGatehouse(newPerson(app));

    const [error] = app.errors;
    assert.equal(page.status, 500);
    assert.ok(error instanceof OAuth2Strategy.TokenError);
    assert.equal(error.code, 'invalid_client');
    assert.match(error.message, /No app has this client_id and client_secret/);
    assert.match(error.uri ?? '', /\/docs\/errors\/invalid_client/);
  });
}

test('Deny is a failed sign-in to Passport, which shows the person why', async () => {
  const app = await newExpressApp();

  const { page } = await signInWithGatehouse(newPerson(app), 'deny');

  assert.deepEqual(app.errors, []);
  assert.equal(page.url, `${app.origin}/refused`);
  assert.equal(page.text, 'The user did not allow it.');
});

test('a scope that the app may not ask for reaches it as an authorization error of Passport', async () => {
  const app = await newExpressApp({ scope: 'read:employees' });

  await signInWithGatehouse(newPerson(app));

  const [error] = app.errors;
  assert.ok(error instanceof OAuth2Strategy.AuthorizationError);
  assert.equal(error.code, 'invalid_scope');
  assert.match(error.message, /read:employees/);
  assert.match(error.uri ?? '', /\/docs\/errors\/invalid_scope/);
});

test('after the person disconnects the app, its next refresh fails with a token error of Passport', async () => {
  const app = await newExpressApp();
  const person = newPerson(app);
  await signInWithGatehouse(person);
  await disconnect(person.atGatehouse, app);

  const page = await person.atApp.open('/');

  const [error] = app.errors;
  assert.equal(page.status, 500);
  assert.ok(error instanceof OAuth2Strategy.TokenError);
  assert.equal(error.code, 'invalid_grant');
  assert.match(error.message, /The user disconnected the app/);
});

async function disconnect(browser: Browser, { clientID }: ExpressApp): Promise<void> {
  const fields = { csrf: await browser.csrf(), app: clientID, business: server.acme.id };
  await browser.post('/settings/connected-apps/disconnect', fields);
}
