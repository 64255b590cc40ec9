import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { InvalidSetting } from '../src/lib/errors.ts';
import { startServer } from '../src/server.ts';
import { freePort } from './support/ports.ts';
import { startTestServer } from './support/test-server.ts';

test('/healthz reports that the process runs, and /readyz that its database responds, on the port of either host', async () => {
  const server = await startTestServer();

  for (const path of ['/healthz', '/readyz']) {
    for (const host of [server.api, server.web]) {
      const response = await fetch(host + path);
      assert.equal(response.status, 200);
      assert.deepEqual(await response.json(), { status: 'ok' });
    }
  }
});

test('a server of one host has both health checks', async () => {
  const address = `http://127.0.0.1:${await freePort()}`;
  await startTestServer({ BASE_URL: address, CONSENT_URL: address });

  for (const path of ['/healthz', '/readyz']) assert.equal((await fetch(address + path)).status, 200);
});

test('a closed server frees both ports for the next one', async () => {
  const server = await startTestServer();
  const browser = await server.signedIn();
  const { access_token } = await server.connect({}, browser);

  await server.restart();

  assert.equal((await server.listInvoices(access_token)).status, 200);
  assert.equal((await browser.open('/settings/account')).status, 200);
});

test('a server adds nothing to its settings, so they keep no closed server in memory', async () => {
  const server = await startTestServer();

  for (const address of [server.settings.listen, server.settings.consentListen]) {
    assert.deepEqual(Object.keys(address).sort(), ['host', 'port']);
  }
});

test('a server that cannot listen on its second port frees the first', async () => {
  const server = await startTestServer();
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const listen = { host: '127.0.0.1', port: await freePort() };
  const settings = { ...server.settings, listen, consentListen: { host: '127.0.0.1', port } };

  const rejected = startServer(settings, server.clock);

  await assert.rejects(rejected, (error) => error instanceof InvalidSetting && /CONSENT_LISTEN/.test(error.message));
  await assert.rejects(fetch(`http://127.0.0.1:${listen.port}/healthz`));
  taken.close();
});

test('a new first key signs new tokens, and signatures of the old key stay valid', async () => {
  const server = await startTestServer();
  const browser = await server.signedIn();
  const { access_token, refresh_token } = await server.connect({}, browser);
  const code = await server.allow({}, browser);
  const form = await browser.open('/settings/account');
  const secretKeys = ['the-new-key-that-signs-from-now-on-and-on', ...server.settings.secretKeys];

  const [key = ''] = server.settings.secretKeys;
  await server.restart({ settings: { secretKeys: [key, ...secretKeys] } });
  await server.restart({ settings: { secretKeys } });
  const refreshed = await server.refresh(refresh_token);
  const exchanged = await server.exchange(code);
  const sent = await browser.submit(form, '/sign-out');
  const listed = await server.listInvoices(access_token);
  await server.restart({ settings: { secretKeys: secretKeys.slice(0, 1) } });

  assert.deepEqual([listed.status, refreshed.status, exchanged.status, sent.status], [200, 200, 200, 200]);
  assert.equal((await server.listInvoices(refreshed.body.access_token)).status, 200);
  assert.equal((await server.listInvoices(access_token)).status, 401);
});
