import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { DAY } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import { newSalt } from '../../src/lib/secrets.ts';
import { SCOPES } from '../../src/oauth/scopes.ts';
import type { Tables } from '../../src/storage/tables.ts';
import { newWorld } from '../support/world.ts';

const PATH = '/settings/connected-apps';
const HALF = 5000;
const EVERYTHING = 2 ** SCOPES.length - 1;
const world = await newWorld();
const ada = await world.signedIn();
const now = world.clock();

/** Ten thousand connections that may do everything: one person's to many apps, and many people's to one app. */
const crowd = await world.addApp({ name: 'Crowd', ownerBusinessId: world.acme.id });
const places = Array.from({ length: HALF }, (_, place) => ({ place, appId: newId(now), userId: newId(now) }));
const pairs = places.flatMap(({ appId, userId }) => [
  { app_id: appId, user_id: world.ada.id },
  { app_id: crowd.id, user_id: userId },
]);
const business_id = world.acme.id;

await insert(
  'apps',
  places.map(({ place, appId }) => ({
    id: appId,
    name: `Gadget ${place}`,
    owner_scope: 'business' as const,
    owner_business_id: business_id,
    open_to_any_business: 0,
    requires_pkce: 0,
    allowed_scopes: EVERYTHING,
    redirect_uris: '[]',
    created_at: now,
  })),
);
await insert(
  'users',
  places.map(({ place, userId }) => ({
    id: userId,
    email: `person-${place}@example.com`,
    name: `Person ${place}`,
    password_hash: '',
    platform_admin: 0,
    created_at: now,
  })),
);
await insert(
  'memberships',
  places.map(({ userId }) => ({ user_id: userId, business_id, role: 'member' as const, created_at: now })),
);
await insert(
  'consents',
  pairs.map((pair) => ({ ...pair, business_id, scopes: EVERYTHING, declined: 0, allowed_at: now })),
);
await insert(
  'grants',
  pairs.map((pair) => ({
    id: newId(now),
    salt: newSalt(),
    ...pair,
    business_id,
    scopes: EVERYTHING,
    created_at: now,
    code_expires_at: now,
    exchanged_at: now,
    rotation: 0,
    rotated_at: now,
    refresh_expires_at: now + 30 * DAY,
    removable_on: 1_000_000,
  })),
);
await insert(
  'scope_uses',
  pairs.map((pair) => ({ ...pair, business_id, scope: 'read:invoices', day: now / DAY, uses: 1234, last_at: now })),
);

async function insert<Name extends keyof Tables>(table: Name, rows: Partial<Tables[Name]>[]): Promise<void> {
  await world.storage().atomically(async (db) => {
    for (let place = 0; place < rows.length; place += 500) {
      await db
        .insertInto(table)
        .values(rows.slice(place, place + 500) as never)
        .execute();
    }
  });
}

// What a database does by itself once it has been running for a while.
await sql`analyze`.execute(world.storage().durable);

const nextOf = (text: string) => /href="([^"]*)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&');

/** By the time that this process was at work for it: whatever else the machine does at the moment is not the page's. */
async function measure(address: string): Promise<{ text: string; took: number }> {
  const times: number[] = [];
  let text = '';
  for (let round = 0; round < 8; round++) {
    const start = process.cpuUsage();
    ({ text } = await ada.open(address));
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / 1000);
  }
  return { text, took: Math.min(...times) };
}

const LOOKS: [what: string, address: string][] = [
  ['the first page', PATH],
  ['a page among many', `${PATH}?after=${places[2500]?.appId}.${world.ada.id}`],
  ['a page of one app that many have connected', `${PATH}?after=${crowd.id}.${places[2500]?.userId}`],
  ['a search for an app', `${PATH}?q=gadget+4999`],
  ['a search for a person', `${PATH}?q=person+4999`],
  ['a search for what is not there', `${PATH}?q=nobody`],
];

for (const [what, address] of LOOKS) {
  test(`with 10,000 connections behind it, ${what} is small and quick`, async () => {
    const { text, took } = await measure(address);

    assert.ok(Buffer.byteLength(text) < 50_000, `${text.length} bytes`);
    assert.ok(took < 50, `${took} ms`);
    if (address.includes('nobody')) assert.match(text, /No connection in Acme matches “nobody”\./);
    else assert.match(text, address.includes('4999') ? /(Gadget|Person) 4999/ : /used 1234 times/);
  });
}

test('the pages go on from each other and leave nobody out', async () => {
  const seen = new Set<string>();
  let address: string | undefined = `${PATH}?q=person+12`;
  while (address) {
    const { text } = await ada.open(address);
    for (const [, name = ''] of text.matchAll(/<strong>(Person \d+)<\/strong>/g)) {
      assert.ok(!seen.has(name), `${name} is shown once`);
      seen.add(name);
    }
    address = nextOf(text);
  }

  assert.equal(seen.size, places.filter(({ place }) => String(place).startsWith('12')).length);
});
