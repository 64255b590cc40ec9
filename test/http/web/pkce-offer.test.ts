import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { findApp } from '../../../src/apps/apps.ts';
import { DAY } from '../../../src/lib/clock.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const browser = await server.signedIn();
const VERIFIER = 'a-verifier-of-at-least-forty-three-characters-in-all';
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
const OFFER = /<button>Require PKCE<\/button>/;

const newApp = () => server.addApp({ ownerBusinessId: server.acme.id });
const open = async (app: RegisteredApp) => (await browser.open(`${DEVELOPER}/${app.id}`)).text;

async function exchange(app: RegisteredApp, { pkce, times = 1 }: { pkce: boolean; times?: number }, user = browser) {
  for (let i = 0; i < times; i++) {
    const challenge = pkce ? { code_challenge: CHALLENGE, code_challenge_method: 'S256' } : {};
    const code = await server.allow({ client_id: app.id, ...challenge }, user);
    const verifier = pkce ? { code_verifier: VERIFIER } : {};
    const { status } = await server.exchange(code, { client_id: app.id, client_secret: app.secret, ...verifier });
    assert.equal(status, 200);
  }
}

test('the form says why PKCE is optional by default', async () => {
  const { text } = await browser.open(`${DEVELOPER}/new`);

  assert.match(text, /Off by default, because many clients send no code_challenge\./);
  assert.doesNotMatch(text, /Recommended/);
});

test('once the last five exchanges of a week all used PKCE, the app’s page offers to require it, in one click', async () => {
  const app = await newApp();
  await exchange(app, { pkce: true, times: 4 });
  assert.doesNotMatch(await open(app), OFFER);

  await exchange(app, { pkce: true });
  const page = await browser.open(`${DEVELOPER}/${app.id}`);
  assert.match(page.text, /Each of the 5 code exchanges in the last 7 days used PKCE\./);
  const required = await browser.submit(page, `${DEVELOPER}/${app.id}/require-pkce`);

  assert.match(required.text, /The app now requires PKCE\./);
  assert.doesNotMatch(required.text, OFFER);
  assert.equal((await findApp(server.storage().durable, app.id))?.requiresPkce, true);
  const rejected = await browser.open(server.authorizeUrl({ client_id: app.id }));
  assert.equal(rejected.leftTo?.searchParams.get('error'), 'invalid_request');
  assert.match((await browser.open('/settings/audit-log')).text, /PKCE/);
});

test('one exchange without PKCE withholds the offer for a week', async () => {
  const app = await newApp();
  await exchange(app, { pkce: false });
  await exchange(app, { pkce: true, times: 5 });
  assert.doesNotMatch(await open(app), OFFER);

  server.advanceClock(8 * DAY);
  const later = await server.signedIn();
  await exchange(app, { pkce: true, times: 5 }, later);
  assert.match((await later.open(`${DEVELOPER}/${app.id}`)).text, OFFER);
});

test('a member who may not change the app sees no offer', async () => {
  const app = await newApp();
  const owner = await server.signedIn();
  await exchange(app, { pkce: true, times: 5 }, owner);
  const mia = await server.signedIn(await server.addUser('Mia', [[server.acme, 'member']]));

  assert.match((await owner.open(`${DEVELOPER}/${app.id}`)).text, OFFER);
  assert.doesNotMatch((await mia.open(`${DEVELOPER}/${app.id}`)).text, OFFER);
});
