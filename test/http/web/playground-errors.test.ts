import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../../src/lib/clock.ts';
import type { Browser } from '../../support/browser.ts';
import { REDIRECT_URI, type RegisteredApp } from '../../support/fixtures.ts';
import { createPlayground, playgroundState, primaryLink, tryPath } from '../../support/playground.ts';
import { freePort } from '../../support/ports.ts';
import { countGrants } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const browser = await server.signedIn();
const RETURN = `${server.web}${DEVELOPER}/try`;
const { begin, decide, paste, reachExchange, newApp } = createPlayground(server, browser);

test('the pasted text may be the URL, its query or the code, and is kept if it is rejected', async () => {
  const app = await newApp();
  const page = await begin(app);
  const response = (await decide(page)).leftTo ?? new URL(REDIRECT_URI);
  const code = response.searchParams.get('code') ?? '';
  const foreign = new URL(response);
  foreign.searchParams.set('state', 'of-someone-else');

  const whole = await paste(app, page, `  ${response.href}#rest\n`);
  const query = await paste(app, page, response.search);
  const alone = await paste(app, page, code);
  const rejected = await paste(app, page, foreign.href);
  const empty = await paste(app, page, `${REDIRECT_URI}?state=1`);
  const nonsense = await paste(app, page, '<no code>\u0000');

  for (const { status, text } of [whole, query, alone])
    assert.match(`${status} ${text}`, new RegExp(`^200.*${code}`, 's'));
  assert.match(alone.text, /You pasted only the code/);
  assert.match(rejected.text, /id="pasted-problem">The state is not the one that was sent/);
  assert.match(rejected.text, /state=of-someone-else.*<\/textarea>/);
  assert.match(empty.text, /id="pasted-problem">This URL contains neither a code nor an error/);
  assert.match(nonsense.text, /id="pasted-problem">Paste the whole URL/);
  assert.match(nonsense.text, /&lt;no code&gt;.<\/textarea>/);
});

test('the playground state is valid only in its session, for its app, unchanged, for 30 minutes', async () => {
  const [app, other] = [await newApp(), await newApp()];
  const page = await reachExchange(app);
  const back = page.url;
  const playground_state = playgroundState(page);
  const sameUser = await server.signedIn();
  const grants = await countGrants(server);
  const send = async (as: Browser, to: RegisteredApp, text: string) =>
    as.post(`${tryPath(to)}/exchange`, { csrf: await as.csrf(), playground_state: text, client_secret: app.secret });

  const lost = [
    await send(sameUser, app, playground_state),
    await send(browser, other, playground_state),
    await send(browser, app, changeMiddle(playground_state)),
    await send(browser, app, ''),
    await send(browser, app, '%00'),
  ];
  const returned = [
    await sameUser.open(back),
    await browser.open(`${RETURN}?code=gac_x&state=forged`),
    await browser.open(`${back}&iss=https://other.example`),
    await browser.open(RETURN),
  ];
  server.advanceClock(29 * MINUTE);
  const inTime = await browser.open(back);
  server.advanceClock(2 * MINUTE);
  const late = await send(browser, app, playground_state);
  const lateReturn = await browser.open(back);

  for (const response of [...lost, late]) {
    assert.equal(response.status, 400);
    assert.match(response.text, /Start again: this was started over 30 minutes ago, or in another session/);
  }
  for (const response of [...returned, lateReturn]) {
    assert.equal(response.status, 400, response.url);
    assert.match(response.text, /Unknown response/);
  }
  assert.equal(inTime.status, 200);
  assert.equal(await countGrants(server), grants);
});

test('a user who may not change the app cannot open any page of its playground [D5]', async () => {
  const app = await newApp();
  const page = await reachExchange(app);
  const playground_state = playgroundState(page);
  const bolt = await server.addBusiness('Bolt');
  const stranger = await server.signedIn(await server.addUser('Bob', [[bolt, 'owner']]));
  const member = await server.signedIn(await server.addUser('Mia', [[server.acme, 'member']]));
  const before = await server.storage().durable.selectFrom('apps').selectAll().execute();

  for (const [as, status] of [
    [stranger, 404],
    [member, 404],
  ] as const) {
    const csrf = await as.csrf();
    assert.equal((await as.open(tryPath(app))).status, status);
    for (const verb of ['', '/callback', '/return-address', '/exchange', '/businesses', '/nonsense']) {
      const fields = {
        csrf,
        playground_state,
        change: 'add',
        pasted: 'gac_x',
        scope: 'read:invoices',
        redirect_uri: REDIRECT_URI,
      };
      assert.equal((await as.post(`${tryPath(app)}${verb}`, fields)).status, status, verb);
    }
  }
  assert.equal(
    (await browser.post(`${tryPath(app)}/nonsense`, { csrf: await browser.csrf(), playground_state })).status,
    404,
  );
  assert.equal(
    (await browser.post(`${tryPath(app)}/exchange`, { playground_state, client_secret: app.secret })).status,
    403,
  );
  assert.equal((await server.browse().open(tryPath(app))).url.startsWith(`${server.web}/sign-in`), true);
  assert.deepEqual(await server.storage().durable.selectFrom('apps').selectAll().execute(), before);
});

test('the playground rejects a request without scopes, or with scopes or redirect URIs that are not the app’s', async () => {
  const app = await newApp();

  const noScope = await begin(app, { scope: [] });
  const strangeScope = await begin(app, { scope: ['read:employees', 'nonsense'] });
  const strangeUri = await begin(app, { redirect_uri: 'https://other.example/callback' });

  for (const page of [noScope, strangeScope]) assert.match(page.text, /id="scope-problem">Choose at least one scope/);
  assert.match(strangeUri.text, /id="redirect_uri-problem">Choose one of the redirect URIs/);
  assert.match(strangeUri.text, /value="read:invoices" checked/);
});

test('a user who allows the app in another business comes back to the page of the app, and continues', async () => {
  const [bolt, carol] = [await server.addBusiness('Borealis'), await server.addUser('Carol', [[server.acme, 'admin']])];
  await server.addMember(carol, bolt, 'member');
  const app = await newApp({ openToAnyBusiness: true, redirectUris: [RETURN] });
  const as = await server.signedIn(carol);
  const consent = await as.open(primaryLink(await begin(app, {}, as)));

  const inBolt = await as.submit(consent, '/consent', { decision: 'switch', business: bolt.id });
  const page = await as.submit(inBolt, '/consent', { decision: 'allow' });
  const tokens = await as.submit(page, `${tryPath(app)}/exchange`, { client_secret: app.secret });
  const businesses = await as.submit(tokens, `${tryPath(app)}/businesses`);

  assert.match(businesses.text, /&quot;name&quot;: &quot;Borealis&quot;/);
});

test('a server that cannot reach its own public address says so, and the state is kept', async () => {
  const port = await freePort();
  const apart = await startTestServer({
    BASE_URL: `http://127.0.0.1:${await freePort()}`,
    LISTEN: `127.0.0.1:${port}`,
  });
  const as = await apart.signedIn();
  const path = tryPath(apart.ledger);
  const fields = { scope: 'read:invoices', redirect_uri: REDIRECT_URI };

  const begun = await as.submit(await as.open(path), path, fields);
  const page = await as.submit(begun, `${path}/callback`, { pasted: 'gac_made-up' });
  const unreachable = await as.submit(page, `${path}/exchange`, { client_secret: apart.ledger.secret });

  assert.match(unreachable.text, new RegExp(`could not reach ${apart.api}, its own public address`));
  assert.ok(unreachable.text.includes(`action="${apart.acmePath(`developer/${apart.ledger.id}/try/exchange`)}"`));
});

/** Not the last character: some of its bits decode to nothing. */
function changeMiddle(text: string): string {
  const index = Math.floor(text.length / 2);
  return `${text.slice(0, index)}${text[index] === 'A' ? 'B' : 'A'}${text.slice(index + 1)}`;
}
