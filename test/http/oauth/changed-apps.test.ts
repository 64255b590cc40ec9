import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECOND } from '../../../src/lib/clock.ts';
import { externalRequest, startDocumentHost } from '../../support/client-document-host.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes', LIMIT_EXTERNAL_CLIENTS: '1000000' });
const host = await startDocumentHost();

const countGrants = async () => (await server.storage().durable.selectFrom('grants').select('id').execute()).length;

test('a client that is not registered has to send a redirect_uri, also if its document has only one', async () => {
  host.change({ redirect_uris: ['https://assistant.example/callback'] });
  const request = { ...externalRequest(server, host.newClientId()), redirect_uri: undefined };

  const page = await (await server.signedIn()).open(server.authorizeUrl(request));
  host.respondWith(undefined);

  assert.equal(page.status, 400);
  assert.match(page.text, /redirect_uri is missing\./);
});

test('if the name in the document has changed since the screen, Allow shows the screen again and grants nothing', async () => {
  host.change({ client_name: 'Claude' }, { 'cache-control': 'no-store' });
  const browser = await server.signedIn();
  const page = await browser.open(server.authorizeUrl(externalRequest(server, host.newClientId())));
  const before = await countGrants();
  host.change({ client_name: 'Helper' });
  server.advanceClock(31 * SECOND);

  const again = await browser.submit(page, '/consent', { decision: 'allow' });
  host.respondWith(undefined);

  assert.match(page.text, /<h1><strong><bdi>Claude<\/bdi><\/strong>/);
  assert.equal(again.leftTo, undefined);
  assert.match(again.text, /<h1><strong><bdi>Helper<\/bdi><\/strong>/);
  assert.equal(await countGrants(), before);
});

test('if the default redirect URI has changed since the screen, Allow shows the screen again and grants nothing', async () => {
  const app = await server.addApp({
    ownerBusinessId: server.acme.id,
    redirectUris: ['https://old.example/callback'],
  });
  const browser = await server.signedIn();
  const page = await browser.open(server.authorizeUrl({ client_id: app.id, redirect_uri: undefined }));
  const before = await countGrants();
  await server
    .storage()
    .durable.updateTable('apps')
    .set({ redirect_uris: JSON.stringify(['https://new.example/callback']) })
    .where('id', '=', app.id)
    .execute();

  const again = await browser.submit(page, '/consent', { decision: 'allow' });

  assert.match(page.text, /<strong>old\.example<\/strong>/);
  assert.equal(again.leftTo, undefined);
  assert.match(again.text, /<strong>new\.example<\/strong>/);
  assert.equal(await countGrants(), before);
});
