import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createKeyring } from '../../src/lib/keyring.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { startTestServer } from '../support/test-server.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const [FIRST, SECOND] = [
  'the-first-key-with-which-everything-was-signed',
  'the-key-that-is-left-when-the-first-one-is-gone',
];
const server = await startTestServer({ SECRET_KEYS: `${FIRST},${SECOND}`, WEBHOOKS_TO_LOOPBACK: 'yes' });
const DEVELOPER = server.acmePath('developer');

const MAX_RELOADS = 3000;

/** Reloads the page until it shows the text: the server sends webhooks in the background. */
async function shows(open: () => Promise<{ text: string }>, expected: RegExp): Promise<void> {
  let { text } = await open();
  for (let reloads = 0; reloads < MAX_RELOADS && !expected.test(text); reloads++) {
    await setTimeout(20);
    ({ text } = await open());
  }
  assert.match(text, expected);
}

test('without the first key its tokens are rejected with a reason and the pages work; with the key back everything works', async () => {
  const browser = await server.signedIn();
  const receiver = await startWebhookReceiver();
  const { access_token, refresh_token } = await server.connect({}, browser);
  const code = await server.allow({}, browser);
  // An endpoint receives only events from after its creation.
  server.advanceClock(1);
  const { endpoint } = await insertEndpoint(
    server.storage().durable,
    createKeyring([FIRST]),
    { appId: server.ledger.id, url: receiver.url, eventTypes: ['grant.created'] },
    server.clock(),
  );
  const log = `${DEVELOPER}/${server.ledger.id}/endpoints/${endpoint.id}`;
  const oldForm = await browser.open('/settings/account');

  await server.restart({ settings: { secretKeys: [SECOND] } });
  const rejected = [
    await server.refresh(refresh_token),
    await server.exchange(code),
    await server.listInvoices(access_token),
  ];
  const revoked = await server.revoke(refresh_token);
  const introspected = await server.introspect(access_token);
  const page = await browser.open('/settings/account');
  const stale = await browser.submit(oldForm, '/sign-out');
  const fresh = await server.connect({}, browser);
  await shows(() => browser.open(log), /secret missing/);
  const sent = receiver.received.length;
  await server.restart();

  assert.deepEqual(
    rejected.map(({ status, body }) => [status, body.error, body.reason]),
    [
      [400, 'invalid_grant', 'token_unknown'],
      [400, 'invalid_grant', 'token_unknown'],
      [401, 'invalid_token', 'token_unknown'],
    ],
  );
  assert.deepEqual([revoked.status, introspected.body], [200, { active: false }]);
  assert.equal(page.status, 200, 'a session is not signed, so it stays valid');
  assert.equal(stale.status, 403, 'a form is signed, and has to be opened again');
  assert.equal(sent, 0, 'nothing is sent unsigned');
  assert.equal((await server.listInvoices(access_token)).status, 200);
  assert.equal((await server.refresh(refresh_token)).status, 200);
  assert.equal((await server.exchange(code)).status, 200);
  assert.equal((await server.listInvoices(fresh.access_token)).status, 200, 'the second key counts as well');
  const message = await browser.submit(await browser.open(log), `${log}/test`);
  assert.equal(message.status, 200);
  await receiver.waitFor(1);
});
