import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordEvent } from '../../src/events/events.ts';
import { newId } from '../../src/lib/ids.ts';
import { openKeyring } from '../../src/lib/keyring.ts';
import { dispatchEvents } from '../../src/webhooks/deliveries.ts';
import { addEndpoint, disableEndpoint } from '../../src/webhooks/endpoints.ts';
import { type Browser, toBody } from '../support/browser.ts';
import { newClient } from '../support/client.ts';
import { inviteInBrowser } from '../support/invitations.ts';
import { addOwner, passkeysOf } from '../support/passkeys.ts';
import { newWorld } from '../support/world.ts';

/** Bolt has one of everything; nobody else here has anything to do with it. */
const world = await newWorld();
const bolt = await world.addBusiness('Bolt');
const bob = await world.addUser('Bob', [[bolt, 'owner']]);
const app = await world.addApp({ name: 'Bolted', ownerBusinessId: bolt.id });
const owner = await world.signedIn(bob);
await newClient({ ...world, user: bob, app, business: bolt }).connect({}, owner);
await inviteInBrowser(owner);
const keyed = await addOwner(world, 'Keyed');

const db = () => world.storage().durable;
const IDS: Record<string, string> = {
  ':app': app.id,
  ':business': bolt.id,
  ':user': bob.id,
  ':secret':
    (await db().selectFrom('app_secrets').select('id').where('app_id', '=', app.id).executeTakeFirst())?.id ?? '',
  ':endpoint': await listen(),
  ':delivery': (await db().selectFrom('deliveries').select('id').executeTakeFirst())?.id ?? '',
  ':step': 'exchange',
  ':token': 'x'.repeat(43),
};
const INVITATION = (await db().selectFrom('invitations').select('id').executeTakeFirst())?.id ?? '';
const PASSKEY = (await passkeysOf(world, keyed.user))[0]?.id ?? '';

async function listen(): Promise<string> {
  const wish = { appId: app.id, url: 'https://bolt.example/hook', eventTypes: ['grant.created'] };
  const keys = openKeyring(world.settings.secretKeys);
  const { endpoint } = await world.storage().atomically((tx) => addEndpoint(tx, keys, wish, world.clock()));
  // It is off, so that nothing is delivered while the tables are compared.
  await disableEndpoint(db(), endpoint.id, 'by_owner', world.clock());
  const event = { type: 'grant.created', appId: app.id, businessId: bolt.id, data: {} } as const;
  await recordEvent(db(), event, world.clock());
  await world.storage().atomically((tx) => dispatchEvents(tx, 10, world.clock()));
  return endpoint.id;
}

/** Every address with an id in it, with an id that exists. The platform's pages have a test of their own. */
const ADDRESSES = [...world.routes.web.keys()]
  .filter((path) => path.includes(':') && !path.startsWith('/platform/') && !path.startsWith('/invitation/'))
  .map((path) => path.replace(/:\w+/g, (name) => IDS[name] ?? idOf(path)));

function idOf(path: string): string {
  if (path.includes('/invitations/')) return INVITATION;
  return path.includes('/passkeys/') ? PASSKEY : app.id;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const TABLES = [
  'apps',
  'app_secrets',
  'endpoints',
  'deliveries',
  'invitations',
  'memberships',
  'passkeys',
  'grants',
] as const;
const snapshot = () => Promise.all(TABLES.map((table) => db().selectFrom(table).selectAll().execute()));

async function statusesFor(browser: Browser, addresses: string[]): Promise<Map<string, number>> {
  const csrf = await browser.csrf();
  const statuses = new Map<string, number>();
  for (const path of addresses) {
    for (const method of METHODS) {
      const isReading = method === 'GET' || method === 'HEAD';
      const fields = { csrf, business: world.acme.id, role: 'admin', answer: 'add', sure: 'yes' };
      const sent = isReading ? { method } : { method, body: toBody(fields) };
      statuses.set(`${method} ${path}`, (await browser.ask(path, sent)).status);
    }
  }
  return statuses;
}

const OTHERS = {
  'someone of no business': await world.addUser('Nora'),
  'a member of another business': await world.addUser('Mia', [[world.acme, 'member']]),
  'an admin of another business': await world.addUser('Amy', [[world.acme, 'admin']]),
  'an owner of another business': world.ada,
};

for (const [who, user] of Object.entries(OTHERS)) {
  test(`to ${who} nothing of this one exists, whatever the address and the method [D5]`, async () => {
    assert.ok(ADDRESSES.length > 25, String(ADDRESSES.length));
    const before = await snapshot();

    const statuses = await statusesFor(await world.signedIn(user), ADDRESSES);

    assert.deepEqual(
      [...statuses].filter(([, status]) => status !== 404),
      [],
    );
    assert.deepEqual(await snapshot(), before);
  });
}

test('a member without the role may look at an app of the business, and all else is not there [D5]', async () => {
  const member = await world.signedIn(await world.addUser('Moe', [[bolt, 'member']]));
  const before = await snapshot();
  const looks = [`/settings/developer/${app.id}`, 'requests', 'connections'];

  const statuses = await statusesFor(member, ADDRESSES);

  const there = [...statuses].filter(([, status]) => status !== 404).map(([asked]) => asked);
  const allowed = looks.flatMap((path, place) => {
    const address = place === 0 ? path : `${looks[0]}/${path}`;
    return [`GET ${address}`, `HEAD ${address}`];
  });
  assert.deepEqual(there.toSorted(), allowed.toSorted());
  assert.deepEqual(await snapshot(), before);
});

test('an id that is nobody’s looks like one that is somebody else’s [D5]', async () => {
  const stranger = await world.signedIn();
  const theirs = await stranger.open(`/settings/developer/${app.id}`);
  const nobodys = await stranger.open(`/settings/developer/${newId(world.clock())}`);

  assert.equal(theirs.text, nobodys.text);
});
