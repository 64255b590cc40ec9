import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEVELOPER, registerInBrowser, removableSecrets, shownCredentials } from '../../support/app-pages.ts';
import { readAuditEntries } from '../../support/audit-entries.ts';
import type { Browser, Fields } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const NEW_PASSWORD = 'an entirely different password';
const HOOK = 'https://hooks.example/T0KEN/in-the-address';

/** Opens a page and sends its form. */
async function fill(browser: Browser, page: string, action: string, fields: Fields = {}) {
  return browser.submit(await browser.open(page), action, fields);
}

async function workOnApp(browser: Browser): Promise<{ id: string; secret: string; held: string[] }> {
  const { id, secret } = shownCredentials(await registerInBrowser(browser, DEVELOPER));
  const path = `${DEVELOPER}/${id}`;
  const second = shownCredentials(await fill(browser, path, `${path}/secrets`)).secret;
  const [old = ''] = removableSecrets(await browser.open(path));
  const hook = { url: HOOK, events: 'grant.created' };
  const added = await fill(browser, `${path}/endpoints/new`, `${path}/endpoints`, hook);
  const [, signing = ''] = /id="signing-secret">(whsec_[^<]+)</.exec(added.text) ?? [];
  const removal = `${path}/secrets/${old}/remove`;
  await browser.submit(await browser.open(path), removal);
  return { id, secret: second, held: [secret, second, signing, 'T0KEN'] };
}

async function connectAndLeave(
  server: TestServer,
  browser: Browser,
  app: { id: string; secret: string },
): Promise<string[]> {
  const client = createClient({
    ...server,
    user: server.ada,
    app: { ...server.ledger, ...app },
    business: server.acme,
  });
  const code = await client.allow({}, browser);
  const { access_token, refresh_token } = (await client.exchange(code)).body;
  await client.revoke(refresh_token);
  return [code, access_token, refresh_token];
}

async function inviteSomeone(browser: Browser): Promise<string[]> {
  const invite = '/settings/members/invite';
  const { text } = await fill(browser, invite, invite, { role: 'member', email: 'bob@example.com' });
  return [/\/invitation\/([\w-]+)/.exec(text)?.[1] ?? ''];
}

test('no audit entry contains a password, a session, a secret, a code, a token, a link or the path of a webhook [X4]', async () => {
  const server = await startTestServer();
  const browser = await server.signedInByPassword();
  const session = () => browser.cookies.get('__Host-session') ?? '';
  const firstSession = session();
  const { held: ofApp, ...app } = await workOnApp(browser);
  const ofGrant = await connectAndLeave(server, browser, app);
  const ofInvitation = await inviteSomeone(browser);
  const passwords = { current_password: PASSWORD, password: NEW_PASSWORD };
  await fill(browser, '/settings/account', '/settings/account/password', passwords);
  const held = [PASSWORD, NEW_PASSWORD, firstSession, session(), ...ofApp, ...ofGrant, ...ofInvitation];
  await fill(browser, '/sign-out', '/sign-out');

  const entries = await readAuditEntries(server);

  const all = JSON.stringify(entries);
  assert.equal(new Set(held).size, 12);
  for (const secret of held) {
    assert.ok(secret.length > 4);
    assert.ok(!all.includes(secret), secret);
    assert.ok(!all.includes(secret.replace(/^[a-z]+_/, '')), secret);
  }
  assert.deepEqual(
    entries.map(({ action }) => action),
    [
      'session.started',
      'app.registered',
      'secret.added',
      'endpoint.added',
      'secret.removed',
      'grant.allowed',
      'grant.revoked',
      'member.invited',
      'user.password_changed',
      'session.ended',
    ],
  );
});
