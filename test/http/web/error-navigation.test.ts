import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();

test('an error page for a signed-in user has the menu and a link back', async () => {
  const rejected = {
    404: await browser.open('/settings/nowhere'),
    403: await browser.post('/settings/account/name', { csrf: 'made up' }),
    405: await browser.open('/settings/current-business'),
  };

  for (const [status, page] of Object.entries(rejected)) {
    assert.equal(page.status, Number(status));
    assert.match(page.text, /<nav class="site-menu" aria-label="Settings">.*Connected apps.*Developer/s, status);
    assert.match(page.text, /<a class="button" href="\/settings\/connected-apps">Back to Connected apps<\/a>/, status);
    assert.doesNotMatch(page.text, /aria-current="page"/, status);
  }
});

test('the menu has the heading Settings, which guides and errors name', async () => {
  const { text } = await browser.open('/settings/account');

  assert.match(text, /<nav class="site-menu"[^>]*><p class="group" aria-hidden="true">Settings<\/p><ul>/);
});

test('the page that deletes an account marks Account', async () => {
  const { text } = await browser.open('/settings/delete-account');

  assert.match(text, /href="\/settings\/account" aria-current="page"/);
});

test('a page in response to a form marks the same menu entry as the page with the form', async () => {
  const [csrf, form] = [await browser.csrf(), await browser.open('/settings/developer/new')];
  const responses = {
    [server.acmePath('developer')]: await browser.submit(form, '/settings/developer', { name: '' }),
    '/settings/account': await browser.post('/settings/account/name', { csrf, name: '' }),
    [server.acmePath('members')]: await browser.post(server.acmePath(`members/${server.ada.id}/role`), { csrf }),
  };

  for (const [entry, { status, text }] of Object.entries(responses)) {
    assert.equal(status, 400, entry);
    assert.deepEqual(
      [...text.matchAll(/<a href="([^"]*)" aria-current="page">/g)].map(([, path]) => path),
      [entry],
    );
  }
});

test('the menu of a page that is not found works', async () => {
  const here = await server.signedIn();

  const out = await here.submit(await here.open('/nowhere'), '/sign-out');

  assert.match(out.text, /You are signed out\./);
});

test('an error page for a visitor links to the sign-in, and has no menu', async () => {
  const stranger = server.browse();
  await stranger.open('/sign-in');

  for (const path of ['/nowhere', '/platform/users', '/invitation/x']) {
    const { status, text } = await stranger.open(path);
    assert.equal(status, 404, path);
    assert.match(text, /<a class="button" href="\/sign-in">Sign in<\/a>/, path);
    assert.doesNotMatch(text, /<nav/, path);
  }
});

test('error pages about untrusted apps, and those of the API host, link to no other page', async () => {
  for (const path of ['/consent?client_id=x', server.authorizeUrl({ client_id: 'x' }), `${server.api}/nowhere`]) {
    assert.doesNotMatch((await browser.open(path)).text, /Back to Connected apps|>Sign in</, path);
  }
});

test('a page that is not found is 404 even while the database fails, and failures link to no other page', async () => {
  const broken = await startTestServer();
  const visitor = await broken.signedIn();
  await sql`alter table sessions rename to lost`.execute(broken.storage().durable);

  const [nowhere, failure] = [await visitor.open('/nowhere'), await visitor.open('/settings/account')];

  assert.deepEqual([nowhere.status, failure.status], [404, 500]);
  for (const { text } of [nowhere, failure]) assert.doesNotMatch(text, /<nav|Back to|>Sign in</);
});
