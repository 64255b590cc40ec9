import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Browser } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const PATH = '/settings/account';
const NEXT = 'a much better password';
const server = await startTestServer();

async function newcomer(name: string) {
  const user = await server.addUser(name, [[server.acme, 'member']]);
  return { user, browser: await server.signedIn(user) };
}

async function changePassword(browser: Browser, current_password: string, password: string) {
  return browser.submit(await browser.open(PATH), `${PATH}/password`, { current_password, password });
}

async function isSignedIn(browser: Browser): Promise<boolean> {
  return (await browser.open(PATH)).url === server.web + PATH;
}

test('the account page shows the user, and the role in each business', async () => {
  const { browser } = await newcomer('Ann');

  const { text } = await browser.open(PATH);

  assert.match(
    text,
    /<dd>ann@example\.com <\/dd>.*Acme <span class="badge">Member<.*name="name" type="text" value="Ann"/s,
  );
});

test('without mail, the account page does not offer to change the address', async () => {
  const { browser } = await newcomer('Abe');

  assert.doesNotMatch((await browser.open(PATH)).text, /the address<\/a>/);
});

test('changing the password needs the current one [D3]', async () => {
  const { user, browser } = await newcomer('Ben');

  const page = await changePassword(browser, 'not the password', NEXT);

  assert.equal(page.status, 400);
  assert.match(page.text, /id="current_password-problem">This is not your current password\./);
  assert.equal((await server.browse().signIn(user.email, NEXT)).status, 401);
  assert.equal((await server.browse().signIn(user.email, PASSWORD)).status, 200);
});

test('after a change only the new password signs in [D3]', async () => {
  const { user, browser } = await newcomer('Cid');

  const page = await changePassword(browser, PASSWORD, NEXT);

  assert.equal(page.url, `${server.web}${PATH}?done=password_changed`);
  assert.match(page.text, /role="status">Your password has been changed\. Every other session is signed out\./);
  assert.equal((await server.browse().signIn(user.email, PASSWORD)).status, 401);
  assert.equal((await server.browse().signIn(user.email, NEXT)).status, 200);
});

test('changing the password ends every other session, and not this one [D3]', async () => {
  const { user, browser } = await newcomer('Dee');
  const other = await server.signedIn(user);
  const stranger = await server.signedIn();

  await changePassword(browser, PASSWORD, NEXT);

  assert.equal(await isSignedIn(other), false);
  assert.equal(await isSignedIn(browser), true);
  assert.equal(await isSignedIn(stranger), true);
});

test('a rejected new password shows the reason beside its field, and changes nothing [S13]', async () => {
  const { user, browser } = await newcomer('Eli');
  const other = await server.signedIn(user);
  const cases: [string, RegExp][] = [
    ['short', /Use at least 8 characters\./],
    ['password1', /attackers try first/],
    ['eli@example.com', /other than the email/],
    ['a password'.repeat(103), /at most 1,024/],
  ];

  for (const [password, sentence] of cases) {
    const page = await changePassword(browser, PASSWORD, password);
    const [, problem = ''] = /id="password-problem">([^<]*)</.exec(page.text) ?? [];
    assert.equal(page.status, 400);
    assert.match(problem, sentence);
    assert.ok(!page.text.includes(`value="${password}"`));
  }
  assert.equal(await isSignedIn(other), true);
  assert.equal((await server.browse().signIn(user.email, PASSWORD)).status, 200);
});

test('guesses at the current password in an open session are limited like sign-ins [S9]', async () => {
  const small = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '2' });
  const browser = await small.signedIn();
  const statuses = [];

  for (const guess of ['one guess', 'two guesses', 'three guesses']) {
    statuses.push((await changePassword(browser, guess, NEXT)).status);
  }

  assert.deepEqual(statuses, [400, 400, 429]);
});

test('a user changes their name, and every page shows the new one', async () => {
  const { user, browser } = await newcomer('Nia');

  const page = await browser.submit(await browser.open(PATH), `${PATH}/name`, { name: ' Nia  Núñez ' });

  assert.match(page.text, /role="status">Your name has been changed\./);
  assert.match(page.text, /popovertarget="account" aria-current="true">.*<span>Nia {2}Núñez<\/span>/);
  const [entry] = await entriesOf(user.id, 'user.renamed');
  assert.deepEqual([entry?.subject_name, entry?.detail, entry?.business_id], ['Nia', '{"to":"Nia  Núñez"}', null]);
});

test('an unreadable name is rejected beside its field, and the input is kept', async () => {
  const { user, browser } = await newcomer('Oda');

  for (const [name, sentence] of [
    ['', /Enter a name\./],
    ['\u200d', /visible characters/],
    ['x'.repeat(81), /at most 80/],
    ['Oda\u202e<b>', /visible characters/],
    ['Oda\0', /visible characters/],
  ] as const) {
    const page = await browser.submit(await browser.open(PATH), `${PATH}/name`, { name });
    assert.equal(page.status, 400);
    assert.match(/id="name-problem">([^<]*)</.exec(page.text)?.[1] ?? '', sentence);
    assert.ok(page.text.includes(`value="${name.replace('<b>', '&lt;b&gt;')}"`));
  }
  assert.match((await browser.open(PATH)).text, /name="name" type="text" value="Oda"/);
  assert.deepEqual(await entriesOf(user.id, 'user.renamed'), []);
});

test('each change of the account is recorded once, for no business, and without a secret', async () => {
  const { user, browser } = await newcomer('Pia');
  await server.signedIn(user);
  await server.signedIn(user);
  const first = await browser.open(PATH);
  const [, session = ''] = /name="session" value="([^"]+)"/.exec(first.text) ?? [];

  await browser.submit(first, `${PATH}/end-session`, { session });
  await browser.submit(first, `${PATH}/end-other-sessions`);
  await browser.submit(first, `${PATH}/end-other-sessions`);
  await browser.submit(first, `${PATH}/name`, { name: 'Pia' });
  await changePassword(browser, PASSWORD, NEXT);

  const entries = (await entriesOf(user.id)).filter(({ action }) => action !== 'session.started');
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['session.ended', 'session.others_ended', 'user.password_changed'],
  );
  assert.ok(entries.every(({ business_id, address }) => business_id === null && address !== null));
  assert.doesNotMatch(JSON.stringify(entries), new RegExp(`${PASSWORD}|${NEXT}`));
});

test('of two simultaneous password changes, the one with the outdated current password is rejected', async () => {
  const { user, browser } = await newcomer('Quin');
  const other = await server.signedIn(user);

  const pages = await Promise.all([
    changePassword(browser, PASSWORD, 'the first new password'),
    changePassword(other, PASSWORD, 'the second new password'),
  ]);

  assert.equal(pages.filter(({ url }) => url.includes('done=password_changed')).length, 1);
  assert.equal((await entriesOf(user.id, 'user.password_changed')).length, 1);
});

async function entriesOf(actorId: string, action?: string) {
  const entries = await server.storage().durable.selectFrom('audit_entries').selectAll().orderBy('id').execute();
  return entries.filter((entry) => entry.actor_id === actorId && (!action || entry.action === action));
}

test('the bar of the account page names its sections by their titles, in their order', async () => {
  const { browser } = await newcomer('Bea');

  const { text } = await browser.open(PATH);

  const links = [...text.matchAll(/<li><a href="#([\w-]+)"\s*>([^<]+)</g)].map(([, id, name]) => [id, name]);
  const titles = [...text.matchAll(/<section class="card settings" id="([\w-]+)"><div[^>]*><h2>([^<]+)</g)];
  assert.ok(links.length > 0);
  assert.deepEqual(
    links,
    titles.map(([, id, title]) => [id, title]),
  );
});
