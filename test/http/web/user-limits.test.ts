import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAuditEntries } from '../../support/audit-entries.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

function assertTooMany({ status, headers, text }: { status: number; headers: Headers; text: string }) {
  assert.equal(status, 429);
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d?$/);
  assert.match(text, /Too many requests/);
}

test('one user’s requests to the pages are limited in a minute, in all browsers together, and signing out still works [X9]', async () => {
  const server = await startTestServer({ LIMIT_PER_USER: '5' });
  const [one, two] = [await server.signedIn(), await server.signedIn()];
  const other = await server.signedIn(await server.addUser('Olivia', [[server.acme, 'member']]));
  for (let i = 0; i < 5; i++) assert.equal((await (i % 2 ? one : two).open('/settings/account')).status, 200);

  assertTooMany(await one.open('/settings/account'));
  assertTooMany(await two.open('/settings/audit-log?q=x'));
  assertTooMany(await one.open(server.authorizeUrl()));
  assert.equal((await other.open('/settings/account')).status, 200);
  assert.equal((await one.submit(await one.open('/sign-out'), '/sign-out')).status, 200);
});

test('the forms that one user sends are limited in a minute, and a form beyond that changes nothing [X9]', async () => {
  const server = await startTestServer({ LIMIT_CHANGES_PER_USER: '3' });
  const browser = await server.signedIn();
  const rename = async (name: string) =>
    browser.submit(await browser.open('/settings/account'), '/settings/account/name', { name });

  for (const name of ['A', 'B', 'C']) assert.equal((await rename(name)).status, 200);
  assertTooMany(await rename('D'));

  assert.equal((await browser.open('/settings/account')).status, 200, 'reads continue');
  const names = (await readAuditEntries(server))
    .filter(({ action }) => action === 'user.renamed')
    .map(({ detail }) => detail);
  assert.deepEqual(names, ['{"to":"A"}', '{"to":"B"}', '{"to":"C"}']);
});

test('silent authorizations of one user are limited in a minute, and the app gets an error by redirect where no page may be shown [X9]', async () => {
  const server = await startTestServer({ LIMIT_CHANGES_PER_USER: '4' });
  const console_ = await server.addApp({ name: 'Console' });
  const browser = await server.signedIn();
  const authorize = (prompt?: string) => browser.open(server.authorizeUrl({ client_id: console_.id, prompt }));
  for (let i = 0; i < 4; i++) assert.ok((await authorize('none')).leftTo?.searchParams.get('code'));

  const silent = (await authorize('none')).leftTo?.searchParams;
  const visible = await authorize();

  assert.equal(silent?.get('error'), 'temporarily_unavailable');
  assert.match(silent?.get('error_description') ?? '', /too many requests for this user\. Try again in \d+ s\./);
  assert.deepEqual([silent?.get('state'), silent?.get('code')], ['state-1', null]);
  assertTooMany(visible);
  const other = await server.signedIn(await server.addUser('Olivia', [[server.acme, 'member']]));
  assert.ok((await other.open(server.authorizeUrl({ client_id: console_.id }))).leftTo?.searchParams.get('code'));
});

test('the app also gets a redirect if the user has opened too many pages [X9]', async () => {
  const server = await startTestServer({ LIMIT_PER_USER: '2' });
  const browser = await server.signedIn();
  for (let i = 0; i < 2; i++) await browser.open('/settings/account');

  const response = await browser.open(server.authorizeUrl({ prompt: 'none' }));

  assert.equal(response.leftTo?.searchParams.get('error'), 'temporarily_unavailable');
});

test('right passwords are limited in a minute, too, since each leaves an entry in the log [X9]', async () => {
  const server = await startTestServer({ LIMIT_CHANGES_PER_USER: '3' });
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++) statuses.push((await server.browse().signIn(server.ada.email, PASSWORD)).status);

  assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
  assert.equal((await readAuditEntries(server)).filter(({ action }) => action === 'session.started').length, 3);
});

test('the exports of one user’s data are limited in an hour, and nothing else is [X9]', async () => {
  const server = await startTestServer({ LIMIT_EXPORTS_PER_USER: '2' });
  const [browser, other] = [await server.signedIn(), await server.signedIn(await server.addUser('Olivia'))];
  for (let i = 0; i < 2; i++) assert.equal((await browser.fetch('/settings/export')).status, 200);

  const refused = await browser.open('/settings/export');

  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get('retry-after')) > 3000);
  assert.match(refused.text, /Too many exports of your data\. Try again in \d+ min/);
  assert.equal((await browser.open('/settings/account')).status, 200);
  assert.equal((await other.fetch('/settings/export')).status, 200);
});
