import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Browser } from '../../support/browser.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();

/** Sends the headers of a form. The returned function sends its body. */
async function beginForm(browser: Browser, path: string): Promise<() => Promise<string>> {
  const body = new URLSearchParams({ csrf: await browser.csrf() }).toString();
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = {
    cookie,
    expect: '100-continue',
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': Buffer.byteLength(body),
  };
  const sent = request(new URL(path, server.web), { method: 'POST', headers });
  sent.flushHeaders();
  await once(sent, 'continue');
  // When this responds, the server has read the session of the form.
  await browser.open('/settings/account');
  return async () => {
    sent.end(body);
    const [response] = await once(sent, 'response');
    return text(response);
  };
}

test('a platform admin who is disabled while a form is being sent cannot enable themselves with it [S16]', async () => {
  const good = await server.addUser('Good', [], true);
  const rogue = await server.addUser('Rogue', [], true);
  const admin = await server.signedIn(good);
  const finish = await beginForm(await server.signedIn(rogue), `/platform/users/${rogue.id}/enable`);

  await admin.post(`/platform/users/${rogue.id}/disable`, { csrf: await admin.csrf() });
  await finish();

  const { disabled_at } = await server
    .storage()
    .durable.selectFrom('users')
    .selectAll()
    .where('id', '=', rogue.id)
    .executeTakeFirstOrThrow();
  assert.notEqual(disabled_at, null);
});

test('a form of a session that ends while the form is being sent changes nothing [S16]', async () => {
  const attacker = await server.signedIn();
  const owner = await server.signedIn();
  const finish = await beginForm(attacker, server.acmePath(`developer/${server.ledger.id}/secrets`));

  await owner.post('/settings/account/end-other-sessions', { csrf: await owner.csrf() });

  assert.doesNotMatch(await finish(), /gcs_/);
});

test('a passkey response that is not text is rejected before any work is done', async () => {
  const browser = await server.signedIn();
  const credential = JSON.stringify({ id: 'x', response: { attestationObject: { length: 2e9 } } });

  const page = await browser.post('/settings/account/passkeys', { csrf: await browser.csrf(), credential });

  assert.ok(page.status >= 400 && page.status < 500, String(page.status));
});
