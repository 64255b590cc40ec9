import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { MINUTE } from '../../../src/lib/clock.ts';
import { PLATFORM } from '../../support/app-pages.ts';
import type { BrowserPage } from '../../support/browser.ts';
import { createPlayground, playgroundState, primaryLink, shownText, tryPath } from '../../support/playground.ts';
import { readGrant } from '../../support/rows.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const browser = await server.signedIn();
const RETURN = `${server.web}${DEVELOPER}/try`;
const { begin, decide, paste, reachExchange, reachTokens, newApp } = createPlayground(server, browser);
await server.addInvoice(server.acme, { number: 'INV-77' });

test('a developer runs through the real flow, and sees each request and its response', async () => {
  const app = await newApp();
  const step = (page: BrowserPage, name: string) => browser.submit(page, `${tryPath(app)}/${name}`);

  const tokens = await reachTokens(app);
  const businesses = await step(tokens, 'businesses');
  const invoices = await step(businesses, 'invoices');
  const refreshed = await step(invoices, 'refresh');
  const again = await step(refreshed, 'invoices');
  const revoked = await step(again, 'revoke');
  const rejected = await step(revoked, 'businesses');
  const refusedToo = await step(rejected, 'refresh');

  assert.match(tokens.text, /200 OK.*&quot;access_token&quot;: &quot;gat_….{4}&quot;/s);
  assert.match(
    businesses.text,
    new RegExp(`GET ${server.api}/api/v1/businesses.*&quot;name&quot;: &quot;Acme&quot;`, 's'),
  );
  assert.match(invoices.text, new RegExp(`x-business-id: ${server.acme.id}.*INV-77`, 's'));
  assert.notEqual(shownText(refreshed, 'tokens'), shownText(tokens, 'tokens'));
  assert.match(again.text, /INV-77/);
  assert.match(rejected.text, /401 Unauthorized.*&quot;reason&quot;: &quot;revoked_by_app&quot;/s);
  assert.match(refusedToo.text, /400 Bad Request.*&quot;reason&quot;: &quot;revoked_by_app&quot;/s);
  const { revoked_reason } = await readGrant(server, /gat_[\w-]+/.exec(shownText(tokens, 'tokens'))?.[0] ?? '');
  assert.equal(revoked_reason, 'revoked_by_app');
});

test('the playground ticks the steps that have succeeded', async () => {
  const app = await newApp();
  const done = ({ text }: { text: string }) => [...text.matchAll(/Done: <\/span>([^<]+)</g)].map(([, name]) => name);

  const exchangePage = await reachExchange(app);
  const rejected = await browser.submit(exchangePage, `${tryPath(app)}/exchange`, { client_secret: 'wrong' });
  const tokens = await browser.submit(exchangePage, `${tryPath(app)}/exchange`, { client_secret: app.secret });

  const businesses = await browser.submit(tokens, `${tryPath(app)}/businesses`);
  const refreshed = await browser.submit(businesses, `${tryPath(app)}/refresh`);
  const revoked = await browser.submit(refreshed, `${tryPath(app)}/revoke`);
  const after = await browser.submit(revoked, `${tryPath(app)}/businesses`);

  assert.deepEqual(done(await begin(app)), []);
  assert.deepEqual(done(exchangePage), ['Authorize']);
  assert.deepEqual(done(rejected), ['Authorize']);
  assert.deepEqual(done(tokens), ['Authorize', 'Exchange']);
  assert.deepEqual(done(after), ['Authorize', 'Exchange', 'Call the API', 'Refresh', 'Revoke']);
  assert.match(
    after.text,
    /aria-current="step"><svg.*?<\/svg><span class="visually-hidden">Done: <\/span>Call the API</,
  );
});

test('no page of the playground shows the secret, may be cached or exceeds 50 kB [D4]', async () => {
  const app = await newApp();
  const tokens = await reachTokens(app);
  const pages = [tokens, await browser.submit(tokens, `${tryPath(app)}/businesses`)];

  for (const page of pages) {
    assert.ok(!page.text.includes(app.secret));
    assert.ok(!Buffer.from(playgroundState(page), 'base64url').includes(app.secret));
    assert.equal(page.headers.get('cache-control'), 'no-store');
    assert.ok(page.text.length < 50_000, String(page.text.length));
    assert.ok(!page.url.includes('?'), page.url);
  }
});

test('the authorization response returns to the playground if its page is a redirect URI of the app', async () => {
  const app = await newApp();
  const offered = await browser.open(tryPath(app));

  const added = await browser.submit(offered, `${tryPath(app)}/return-address`);
  const page = await decide(await begin(app, { redirect_uri: RETURN }));
  const tokens = await browser.submit(page, `${tryPath(app)}/exchange`, { client_secret: app.secret });
  const removed = await browser.submit(added, `${tryPath(app)}/return-address`);

  assert.match(added.text, /role="status">Saved/);
  assert.ok(page.url.startsWith(`${RETURN}?code=gac_`), page.url);
  assert.match(page.text, /The authorization server that responded/);
  assert.match(tokens.text, /200 OK/);
  assert.ok(!removed.text.includes(`value="${RETURN}"`));
  const entries = await server
    .storage()
    .durable.selectFrom('audit_entries')
    .selectAll()
    .where('subject_id', '=', app.id)
    .execute();
  assert.deepEqual(
    entries
      .filter(({ action }) => action === 'app.changed')
      .map(({ actor_id, business_id }) => [actor_id, business_id]),
    [
      [server.ada.id, server.acme.id],
      [server.ada.id, server.acme.id],
    ],
  );
});

test('adding the playground’s redirect URI twice has no further effect, and an app keeps at least one redirect URI', async () => {
  const app = await newApp({ redirectUris: [RETURN] });
  const csrf = await browser.csrf();
  const set = (change: string) => browser.post(`${tryPath(app)}/return-address`, { csrf, change });

  const added = await set('add');
  const removed = await set('remove');

  assert.equal(added.text.split(`value="${RETURN}"`).length, 2);
  assert.equal(removed.status, 400);
  assert.match(removed.text, /Enter at least one redirect URI/);
  const entries = await server
    .storage()
    .durable.selectFrom('audit_entries')
    .selectAll()
    .where('subject_id', '=', app.id)
    .execute();
  assert.equal(entries.length, 0);
});

test('a first-party app is tried from the platform’s pages, and asks for no consent', async () => {
  const app = await server.addApp({ name: 'Console', redirectUris: [`${server.web}${PLATFORM}/try`] });
  const pat = await server.signedIn(await server.addUser('Pat', [[server.acme, 'member']], true));
  const path = tryPath(app, PLATFORM);

  const fields = { scope: 'read:invoices', redirect_uri: `${server.web}${PLATFORM}/try` };
  const page = await pat.open(primaryLink(await pat.submit(await pat.open(path), path, fields)));
  const tokens = await pat.submit(page, `${path}/exchange`, { client_secret: app.secret });

  assert.match(tokens.text, /200 OK/);
  assert.equal((await browser.open(path)).status, 404);
  assert.equal((await browser.open(page.url)).status, 404);
});

test('a wrong secret shows the real response and its explanation, and the right one still works afterwards', async () => {
  const app = await newApp();
  const page = await reachExchange(app);
  const exchange = (from: BrowserPage, client_secret: string) =>
    browser.submit(from, `${tryPath(app)}/exchange`, { client_secret });

  const missing = await exchange(page, ' ');
  const wrong = await exchange(missing, 'gcs_"wrong"}');
  const right = await exchange(wrong, app.secret);

  assert.equal(missing.status, 400);
  assert.match(missing.text, /id="client_secret-problem">Enter one of the app’s secrets/);
  assert.match(wrong.text, /401 Unauthorized.*&quot;error&quot;: &quot;invalid_client&quot;/s);
  assert.match(wrong.text, new RegExp(`href="${server.api}/docs/errors/invalid_client#`));
  assert.ok(!wrong.text.includes('gcs_&quot;wrong'));
  assert.match(right.text, /200 OK/);
});

test('a scope that was not requested is really missing', async () => {
  const app = await newApp();
  const tokens = await reachTokens(app, { scope: ['read:contacts'] });

  const businesses = await browser.submit(tokens, `${tryPath(app)}/businesses`);
  const invoices = await browser.submit(businesses, `${tryPath(app)}/invoices`);

  assert.match(tokens.text, /&quot;scope&quot;: &quot;read:contacts&quot;/);
  assert.match(invoices.text, /403 Forbidden.*www-authenticate: Bearer error=&quot;insufficient_scope&quot;/s);
});

test('Deny on the consent screen is shown with its meaning, and leaves nothing to exchange', async () => {
  const app = await newApp();
  const page = await begin(app);

  const denied = await paste(app, page, (await decide(page, 'deny')).leftTo?.href ?? '');

  assert.match(denied.text, /<code>access_denied<\/code>/);
  assert.match(denied.text, new RegExp(`href="${server.api}/docs/errors/access_denied#`));
  assert.ok(!denied.text.includes('/exchange"'));
});

test('each request can be run as curl, as it is shown', async () => {
  const redirectUri = "https://ledger.example/it's?a=$HOME&b=`id`".replaceAll('`', '%60');
  const app = await newApp({ redirectUris: [redirectUri] });
  const run = async (script: string) => (await promisify(execFile)('bash', ['-c', script], { timeout: 10_000 })).stdout;
  const secret = `export CLIENT_SECRET=${app.secret}`;

  const page = await begin(app);
  const authorized = await run(shownText(page, 'curl-authorize'));
  const exchange = await paste(app, page, (await decide(page)).leftTo?.href ?? '');
  const exchanged = await run(`${secret}\n${shownText(exchange, 'curl-exchange')}`);
  const walked = await browser.submit(await reachTokens(app), `${tryPath(app)}/businesses`);
  const runShown = (name: string) =>
    run(`${secret}\n${shownText(walked, 'tokens')}\n${shownText(walked, `curl-${name}`)}`);
  const sent = await runShown('sent');
  const invoices = await runShown('invoices');
  const refreshed = await runShown('refresh');
  const revoked = await runShown('revoke');
  const rejected = await runShown('sent');

  assert.match(authorized, /^HTTP\/1.1 303 .*location: http:\/\/localhost:\d+\/consent\?/s);
  assert.match(exchanged, /^HTTP\/1.1 200 .*"access_token":"gat_/s);
  assert.match(sent, /^HTTP\/1.1 200 .*"name":"Acme"/s);
  assert.match(invoices, /^HTTP\/1.1 200 .*INV-77/s);
  assert.match(refreshed, /^HTTP\/1.1 200 .*"refresh_token":"grt_/s);
  assert.match(revoked, /^HTTP\/1.1 200 /);
  assert.match(rejected, /^HTTP\/1.1 401 .*revoked_by_app/s);
});

test('a used or expired code is reported as such, with an offer to start again', async () => {
  const app = await newApp();
  const page = await reachExchange(app);
  const exchange = () => browser.submit(page, `${tryPath(app)}/exchange`, { client_secret: app.secret });
  await exchange();

  const used = await exchange();
  const late = await reachExchange(app);
  server.advanceClock(11 * MINUTE);
  const expired = await browser.submit(late, `${tryPath(app)}/exchange`, { client_secret: app.secret });

  assert.match(used.text, /&quot;reason&quot;: &quot;code_reused&quot;/);
  assert.match(expired.text, /&quot;reason&quot;: &quot;code_expired&quot;/);
  for (const { text } of [used, expired]) {
    assert.ok(!text.includes('/exchange"'));
    assert.match(text, new RegExp(`href="${tryPath(app, DEVELOPER)}">Start again`));
  }
});
