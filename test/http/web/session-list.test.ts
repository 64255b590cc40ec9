import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../../src/lib/clock.ts';
import { hashSecret } from '../../../src/lib/secrets.ts';
import type { Browser, BrowserPage } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const PATH = '/settings/account';
const server = await startTestServer();

async function newcomer(name: string) {
  const user = await server.addUser(name, [[server.acme, 'member']]);
  return { user, browser: await server.signedIn(user) };
}

async function isSignedIn(browser: Browser): Promise<boolean> {
  return (await browser.open(PATH)).url === server.web + PATH;
}

/** The form values that end each of the other sessions, most recent first. */
function endable({ text }: BrowserPage): string[] {
  return [...text.matchAll(/<button class="quiet danger" name="session" value="([^"]+)"/g)].map(
    ([, value = '']) => value,
  );
}

test('a user sees where they are signed in, and which session is the current one [D3]', async () => {
  const { user, browser } = await newcomer('Fay');
  const phone = server.browse();
  const form = await phone.open('/sign-in');
  await phone.submit(
    form,
    '/sign-in',
    { email: user.email, password: PASSWORD },
    { 'user-agent': 'Mozilla/5.0 (Android 16; Mobile; rv:145.0) Gecko/145.0 Firefox/145.0' },
  );

  const here = await browser.open(PATH);
  const there = await phone.open(PATH);

  assert.match(
    here.text,
    /<strong>Firefox on Android<\/strong>\s*<p class="muted small">(?:127\.0\.0\.1|::1)\. Last seen/,
  );
  assert.match(there.text, /<strong>Firefox on Android<\/strong> <span class="badge good">This browser</);
  assert.equal(here.text.split('>This browser<').length, 2);
});

test('the list of sessions shows nothing that could be used as a session [D3]', async () => {
  const { user, browser } = await newcomer('Gus');
  const other = await server.signedIn(user);

  const { text } = await browser.open(PATH);

  for (const { cookies } of [browser, other]) {
    const cookie = cookies.get('__Host-session') ?? '-';
    assert.ok(!text.includes(cookie) && !text.includes(hashSecret(cookie)));
  }
});

test('a user ends all their other sessions with one button [D3]', async () => {
  const { user, browser } = await newcomer('Hal');
  const others = [await server.signedIn(user), await server.signedIn(user)];
  const stranger = await server.signedIn();

  const page = await browser.submit(await browser.open(PATH), `${PATH}/end-other-sessions`);

  assert.equal(page.url, `${server.web}${PATH}?done=sessions_ended`);
  assert.deepEqual(await Promise.all(others.map(isSignedIn)), [false, false]);
  assert.equal(await isSignedIn(browser), true);
  assert.equal(await isSignedIn(stranger), true);
  assert.doesNotMatch(page.text, /Sign out everywhere else/);
});

test('ending sessions keeps connected apps connected', async () => {
  const { user, browser } = await newcomer('Ida');
  await server.signedIn(user);
  const { access_token } = await server.connect({}, browser);

  await browser.submit(await browser.open(PATH), `${PATH}/end-other-sessions`);

  assert.equal((await server.listInvoices(access_token)).status, 200);
});

test('a user ends a single other session, and the rest continue [D3]', async () => {
  const { user, browser } = await newcomer('Jan');
  server.advanceClock(MINUTE);
  const phone = await server.signedIn(user);
  server.advanceClock(MINUTE);
  const laptop = await server.signedIn(user);
  const list = await browser.open(PATH);
  const [, session = ''] = endable(list);

  const page = await browser.submit(list, `${PATH}/end-session`, { session });

  assert.equal(endable(list).length, 2);
  assert.match(page.text, /role="status">The session has ended\./);
  assert.deepEqual(await Promise.all([phone, laptop, browser].map(isSignedIn)), [false, true, true]);
  assert.equal((await browser.submit(page, `${PATH}/end-session`, { session })).status, 404);
});

test('a user cannot end a session of another user, or one by a forged reference [D5]', async () => {
  const { user, browser } = await newcomer('Kit');
  const other = await server.signedIn(user);
  const [session = ''] = endable(await browser.open(PATH));
  const { browser: stranger } = await newcomer('Kai');
  await server.signedIn(user);
  const cookie = other.cookies.get('__Host-session') ?? '';

  for (const wrong of [session, '', 'x', '\0', cookie, hashSecret(cookie), `${session}A`, [session, session]]) {
    const { status } = await stranger.post(`${PATH}/end-session`, { csrf: await stranger.csrf(), session: wrong });
    assert.equal(status, 404);
  }
  assert.equal(await isSignedIn(other), true);
});

test('the reference to a session on the page is not a valid cookie', async () => {
  const { user, browser } = await newcomer('Lea');
  await server.signedIn(user);
  const [session = ''] = endable(await browser.open(PATH));
  const attacker = server.browse();

  attacker.cookies.set('__Host-session', session);

  assert.equal(await isSignedIn(attacker), false);
});

test('with very many sessions the page shows the 30 most recent, says that there are more, and stays small', async () => {
  const { user, browser } = await newcomer('Mo');
  const row = (i: number) => ({
    id_hash: `${user.id} ${i}`,
    user_id: user.id,
    browser: 'x'.repeat(200),
    address: '2001:db8:1111:2222:3333:4444:5555:6666',
    signed_in_at: server.clock(),
    last_seen_at: server.clock() - i,
    expires_at: server.clock() + MINUTE,
  });
  const rows = Array.from({ length: 2000 }, (_, i) => row(i + 1));
  await server.storage().durable.insertInto('sessions').values(rows).execute();

  const page = await browser.open(PATH);

  assert.equal(endable(page).length, 29);
  assert.match(page.text, /These are the 30 most recent; there are more\./);
  assert.ok(page.text.length < 50_000, String(page.text.length));
});
