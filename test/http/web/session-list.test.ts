import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../../src/lib/clock.ts';
import { hashSecret } from '../../../src/lib/secrets.ts';
import type { Browser, Visited } from '../../support/browser.ts';
import { PASSWORD } from '../../support/people.ts';
import { newWorld } from '../../support/world.ts';

const PATH = '/settings/account';
const world = await newWorld();

async function newcomer(name: string) {
  const user = await world.addUser(name, [[world.acme, 'member']]);
  return { user, browser: await world.signedIn(user) };
}

async function isSignedIn(browser: Browser): Promise<boolean> {
  return (await browser.open(PATH)).url === world.web + PATH;
}

/** By which the page would end each of the other sessions, those seen last first. */
function endable({ text }: Visited): string[] {
  return [...text.matchAll(/<button class="danger" name="session" value="([^"]+)"/g)].map(([, value = '']) => value);
}

test('a user sees where they are signed in, and which session is the current one [D3]', async () => {
  const { user, browser } = await newcomer('Fay');
  const phone = world.browse();
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
  assert.match(there.text, /<strong>Firefox on Android<\/strong> <span class="badge">This browser</);
  assert.equal(here.text.split('>This browser<').length, 2);
});

test('the list of sessions shows nothing that could be used as a session [D3]', async () => {
  const { user, browser } = await newcomer('Gus');
  const other = await world.signedIn(user);

  const { text } = await browser.open(PATH);

  for (const { cookies } of [browser, other]) {
    const cookie = cookies.get('__Host-session') ?? '-';
    assert.ok(!text.includes(cookie) && !text.includes(hashSecret(cookie)));
  }
});

test('a user ends all their other sessions with one button [D3]', async () => {
  const { user, browser } = await newcomer('Hal');
  const others = [await world.signedIn(user), await world.signedIn(user)];
  const stranger = await world.signedIn();

  const page = await browser.submit(await browser.open(PATH), `${PATH}/end-other-sessions`);

  assert.equal(page.url, `${world.web}${PATH}?done=sessions_ended`);
  assert.deepEqual(await Promise.all(others.map(isSignedIn)), [false, false]);
  assert.equal(await isSignedIn(browser), true);
  assert.equal(await isSignedIn(stranger), true);
  assert.doesNotMatch(page.text, /Sign out everywhere else/);
});

test('ending sessions keeps connected apps connected', async () => {
  const { user, browser } = await newcomer('Ida');
  await world.signedIn(user);
  const { access_token } = await world.connect({}, browser);

  await browser.submit(await browser.open(PATH), `${PATH}/end-other-sessions`);

  assert.equal((await world.listInvoices(access_token)).status, 200);
});

test('a user ends a single other session, and the rest continue [D3]', async () => {
  const { user, browser } = await newcomer('Jan');
  world.wind(MINUTE);
  const phone = await world.signedIn(user);
  world.wind(MINUTE);
  const laptop = await world.signedIn(user);
  const list = await browser.open(PATH);
  const [, session = ''] = endable(list);

  const page = await browser.submit(list, `${PATH}/end-session`, { session });

  assert.equal(endable(list).length, 2);
  assert.match(page.text, /role="status">The session has ended\./);
  assert.deepEqual(await Promise.all([phone, laptop, browser].map(isSignedIn)), [false, true, true]);
  assert.equal((await browser.submit(page, `${PATH}/end-session`, { session })).status, 404);
});

test('nobody can end a session of another user, or one by a forged reference [D5]', async () => {
  const { user, browser } = await newcomer('Kit');
  const other = await world.signedIn(user);
  const [session = ''] = endable(await browser.open(PATH));
  const { browser: stranger } = await newcomer('Kai');
  await world.signedIn(user);
  const cookie = other.cookies.get('__Host-session') ?? '';

  for (const wrong of [session, '', 'x', '\0', cookie, hashSecret(cookie), `${session}A`, [session, session]]) {
    const { status } = await stranger.post(`${PATH}/end-session`, { csrf: await stranger.csrf(), session: wrong });
    assert.equal(status, 404);
  }
  assert.equal(await isSignedIn(other), true);
});

test('the reference to a session on the page is not a valid cookie', async () => {
  const { user, browser } = await newcomer('Lea');
  await world.signedIn(user);
  const [session = ''] = endable(await browser.open(PATH));
  const thief = world.browse();

  thief.cookies.set('__Host-session', session);

  assert.equal(await isSignedIn(thief), false);
});

test('with very many sessions the page shows the 30 most recent, says that there are more, and stays small', async () => {
  const { user, browser } = await newcomer('Mo');
  const row = (i: number) => ({
    id_hash: `${user.id} ${i}`,
    user_id: user.id,
    browser: 'x'.repeat(200),
    address: '2001:db8:1111:2222:3333:4444:5555:6666',
    signed_in_at: world.clock(),
    last_seen_at: world.clock() - i,
    expires_at: world.clock() + MINUTE,
  });
  const rows = Array.from({ length: 2000 }, (_, i) => row(i + 1));
  await world.storage().durable.insertInto('sessions').values(rows).execute();

  const page = await browser.open(PATH);

  assert.equal(endable(page).length, 29);
  assert.match(page.text, /These are the 30 most recent; there are more\./);
  assert.ok(page.text.length < 50_000, String(page.text.length));
});
