import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setAppPolicy } from '../../support/app-rules.ts';
import { CALLBACK, externalRequest, startDocumentHost } from '../../support/client-document-host.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const ON = { WEBHOOKS_TO_LOOPBACK: 'yes', LIMIT_EXTERNAL_CLIENTS: '1000000', DYNAMIC_REGISTRATION: 'on' };
const server = await startTestServer(ON);
const host = await startDocumentHost();
const UNKNOWN_BUSINESS = '0190b9a1-5e1a-7b22-9c33-1a2b3c4d5e6f';
const strangers = await server.addBusiness('Strangers');
const mia = await server.addUser('Mia', [[server.acme, 'member']]);

type Changes = Record<string, string>;

const urlOf = (clientId: string, changes: Changes = {}, at: TestServer = server) =>
  at.authorizeUrl({ ...externalRequest(at, clientId), ...changes });

async function register(): Promise<string> {
  const metadata = { client_name: 'Acme', redirect_uris: [CALLBACK] };
  return (await server.sendJson('POST', '/api/v1/oauth/register', metadata)).body.client_id;
}

const CLIENTS = { document: () => host.newClientId(), registered: register };
const REFUSED: [cause: string, changes: Changes][] = [
  ['the server of a business that is not theirs', { resource: `${server.api}/mcp/${strangers.id}` }],
  ['the server of no business', { resource: `${server.api}/mcp/${UNKNOWN_BUSINESS}` }],
  ['prompt=none', { prompt: 'none' }],
];

for (const [kind, newClientId] of Object.entries(CLIENTS)) {
  for (const [cause, changes] of REFUSED) {
    test(`a person whom an external app (${kind}) sends for ${cause} is redirected nowhere, signed in or signing in [G5]`, async () => {
      const clientId = await newClientId();
      const signedIn = await (await server.signedIn()).open(urlOf(clientId, changes));
      const browser = server.browse();
      const first = await browser.open(urlOf(clientId, changes));
      const isForm = first.text.includes('name="password"');
      const second = isForm ? await browser.signIn(server.ada.email, PASSWORD, first) : first;

      for (const page of [signedIn, first, second]) assert.equal(page.leftTo, undefined);
      assert.ok([400, 403].includes(signedIn.status), String(signedIn.status));
      assert.match(signedIn.text, /This app cannot be connected/);
    });
  }
}

test('the same page is shown for the server of a business that does not exist, and says what to do [G5]', async () => {
  const browser = await server.signedIn();
  const clientId = host.newClientId();
  const open = (id: string) => browser.open(urlOf(clientId, { resource: `${server.api}/mcp/${id}` }));

  const [theirs, none] = [await open(strangers.id), await open(UNKNOWN_BUSINESS)];

  assert.deepEqual([theirs.status, none.status], [403, 403]);
  assert.match(theirs.text, /You are not a member of the business that the app asks for/);
  assert.equal(/<main.*<\/main>/s.exec(theirs.text)?.[0], /<main.*<\/main>/s.exec(none.text)?.[0]);
});

test('an app that this person has allowed before gets its errors by redirect, until they disconnect it [G5]', async () => {
  const clientId = host.newClientId();
  const [browser, other] = [await server.signedIn(), await server.signedIn(mia)];
  const foreign = urlOf(clientId, { resource: `${server.api}/mcp/${strangers.id}` });
  const silent = urlOf(clientId, { prompt: 'none' });
  await browser.submit(await browser.open(urlOf(clientId)), '/consent', { decision: 'allow' });

  const errors = [await browser.open(foreign), await browser.open(silent)].map(
    ({ leftTo }) => redirectParams(leftTo?.href).reason,
  );
  const ofOther = [await other.open(foreign), await other.open(silent)].map(({ leftTo }) => leftTo);
  await browser.submit(await browser.open('/settings/connected-apps'), '/settings/connected-apps/disconnect');
  const later = await browser.open(silent);

  assert.deepEqual(errors, ['not_a_member', 'consent_required']);
  assert.deepEqual(ofOther, [undefined, undefined], 'another person has not');
  assert.equal(later.leftTo, undefined);
});

test('the rules of a business lead nobody to an external app that they have not allowed, except by a click [G5]', async () => {
  const at = await startTestServer(ON);
  await setAppPolicy(await at.signedIn(), 'admins');
  const member = await at.signedIn(await at.addUser('Mia', [[at.acme, 'member']]));
  const clientId = host.newClientId();

  const silent = await member.open(urlOf(clientId, { prompt: 'none' }, at));
  const shown = await member.open(urlOf(clientId, {}, at));
  const back = await member.submit(shown, '/consent', { decision: 'back' });

  assert.deepEqual([silent.status, silent.leftTo], [400, undefined]);
  assert.match(shown.text, /You will be sent to<\/dt><dd><strong>assistant\.example/);
  assert.equal(redirectParams(back.leftTo?.href).reason, 'role_required');
});

test('the limit of requests leads nobody to an external app that they have not allowed [G5]', async () => {
  const at = await startTestServer({ ...ON, LIMIT_PER_USER: '2' });
  const browser = await at.signedIn();
  const url = urlOf(host.newClientId(), { prompt: 'none' }, at);

  const statuses = [];
  for (let i = 0; i < 3; i++) {
    const { status, leftTo } = await browser.open(url);
    statuses.push([status, leftTo]);
  }

  assert.deepEqual(statuses.at(-1), [429, undefined]);
});

test('Deny and Allow lead to an external app, and so does no other answer of the first request [G5]', async () => {
  const clientId = host.newClientId();
  const browser = await server.signedIn();

  const page = await browser.open(urlOf(clientId));
  const denied = await browser.submit(page, '/consent', { decision: 'deny' });
  const afterwards = await browser.open(urlOf(clientId, { prompt: 'none' }));
  const allowed = await browser.submit(await browser.open(urlOf(clientId)), '/consent', { decision: 'allow' });

  assert.equal(redirectParams(denied.leftTo?.href).error, 'access_denied');
  assert.equal(afterwards.leftTo, undefined, 'Deny allows nothing later');
  assert.ok(redirectParams(allowed.leftTo?.href).code);
});
