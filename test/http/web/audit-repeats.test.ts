import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, HOUR } from '../../../src/lib/clock.ts';
import { retentionSteps } from '../../../src/retention-steps.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import { readActs, shownActs } from '../../support/acts.ts';
import { newWorld, type World } from '../../support/world.ts';

const allowed = async (world: World) =>
  (await readActs(world))
    .filter(({ action }) => action === 'grant.allowed')
    .map(({ detail }) => JSON.parse(detail).scope);

/** An app of the platform, which shows no consent screen. */
async function newConsole(world: World) {
  const { id } = await world.addApp({ name: 'Console' });
  const browser = await world.signedIn();
  const authorize = async (changes = {}, by = browser) => {
    const { leftTo } = await by.open(world.authorizeUrl({ client_id: id, prompt: 'none', ...changes }));
    assert.ok(leftTo?.searchParams.get('code'), String(leftTo));
  };
  return { id, browser, authorize };
}

test('silent authorizations by one user of one app in one business leave one entry a day, however many at once [X9]', async () => {
  const world = await newWorld();
  const { authorize } = await newConsole(world);

  await Promise.all(Array.from({ length: 20 }, () => authorize()));
  const firstDay = await allowed(world);
  world.wind(DAY - 1);
  const later = await world.signedIn();
  await authorize({}, later);
  const endOfDay = await allowed(world);
  world.wind(1);
  await authorize({}, later);
  await authorize({}, later);

  assert.deepEqual([firstDay.length, endOfDay.length, (await allowed(world)).length], [1, 1, 2]);
});

test('a remembered consent that is used again and again leaves one entry beside the one of Allow [X9]', async () => {
  const world = await newWorld();
  const browser = await world.signedIn();
  await world.allow({}, browser);

  for (let i = 0; i < 10; i++) await world.allow({ prompt: 'none' }, browser);

  const ways = (await readActs(world)).map(({ detail }) => JSON.parse(detail).how);
  assert.deepEqual(ways, [undefined, 'without asking']);
});

test('other scopes, another business, another user and another app are no repeats', async () => {
  const world = await newWorld();
  const { id, browser, authorize } = await newConsole(world);
  const bolt = await world.addBusiness('Bolt');
  await world.addMember(world.ada, bolt, 'member');
  const olivia = await world.signedIn(await world.addUser('Olivia', [[world.acme, 'member']]));
  const other = await world.addApp({ name: 'Other' });

  await authorize();
  await authorize({ scope: 'read:invoices write:invoices' });
  await authorize({ client_id: other.id });
  await olivia.open(world.authorizeUrl({ client_id: id }));
  await browser.post('/settings/current-business', { csrf: await browser.csrf(), business: bolt.id });
  await authorize();

  assert.equal((await allowed(world)).length, 5);
});

test('a silent authorization after the app was disconnected is in the log again', async () => {
  const world = await newWorld();
  const { id, browser, authorize } = await newConsole(world);
  await authorize();
  const path = '/settings/connected-apps/disconnect';
  const csrf = await browser.csrf();
  await browser.post(path, { csrf, app: id, business: world.acme.id, sure: 'yes' });

  await authorize();
  await authorize();

  assert.deepEqual(
    (await readActs(world)).map(({ action }) => action),
    ['grant.allowed', 'grant.disconnected', 'grant.allowed'],
  );
});

test('Deny is in the log of the business, once an hour', async () => {
  const world = await newWorld();
  const browser = await world.signedIn();
  const deny = async () => browser.submit(await browser.open(world.authorizeUrl()), '/consent', { answer: 'deny' });

  const denied = await deny();
  await deny();
  const log = shownActs(await browser.open('/settings/audit-log'));
  world.wind(HOUR);
  await deny();

  assert.equal(denied.leftTo?.searchParams.get('error'), 'access_denied');
  assert.deepEqual(
    log.map(({ who, what, onWhat }) => [who, what, onWhat]),
    [['Ada', 'Denied the app', 'Ledger']],
  );
  assert.equal((await readActs(world)).length, 2);
});

test('what is remembered of repeats is removed after a day', async () => {
  const world = await newWorld();
  const { authorize } = await newConsole(world);
  await authorize();

  const count = async () => (await world.storage().durable.selectFrom('audit_repeats').select('key').execute()).length;
  const before = await count();
  world.wind(DAY + 1);
  await removeExpired(world.storage().durable, retentionSteps(), world.clock());

  assert.deepEqual([before, await count()], [1, 0]);
});
