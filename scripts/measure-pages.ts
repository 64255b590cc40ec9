// `node scripts/measure-pages.ts`: how long the server takes for each page, and how large it is, with thousands of rows
// behind it. On SQLite; on PostgreSQL where TEST_DATABASE_URL names a server. One process serves and asks, so what is
// measured is a little more than the page itself.
import { test } from 'node:test';
import { addCrowd, addHistory } from '../test/support/crowd.ts';
import { newWorld } from '../test/support/world.ts';

const ROUNDS = 25;
const LARGEST = 50_000;
const LONGEST = 50;

test('every page with thousands of rows behind it is under 50 kB and 50 ms', async () => {
  const world = await newWorld();
  const root = await world.addUser('Root', [[world.acme, 'owner']], true);
  const crowd = await world.addApp({ name: 'Crowd', ownerBusinessId: world.acme.id });
  const setting = { businessId: world.acme.id, userId: root.id, appId: crowd.id, half: 5000 };
  await addCrowd(world.storage(), setting, world.clock());
  await addHistory(world.storage(), setting, world.clock());
  const browser = await world.signedIn(root);
  const app = `/settings/developer/${crowd.id}`;
  const pages = [
    '/settings/connected-apps',
    '/settings/connected-apps?q=person+4999',
    '/settings/members',
    '/settings/members?q=nobody',
    '/settings/audit-log',
    '/settings/audit-log?q=nobody',
    '/settings/developer',
    '/settings/account',
    app,
    `${app}/requests`,
    `${app}/requests?errors=only&period=month`,
    `${app}/connections`,
    `${app}/try`,
    '/platform/apps',
    '/platform/apps?q=gadget+4999',
    `/platform/apps/${crowd.id}`,
    `/platform/apps/${crowd.id}/pause`,
    '/platform/businesses',
    '/platform/businesses?q=nobody',
    `/platform/businesses/${world.acme.id}`,
    '/platform/users',
    '/platform/users?q=person-4999',
    `/platform/users/${root.id}`,
    '/platform/audit-log',
    '/platform/audit-log?q=nobody',
  ];
  const slow: string[] = [];
  for (const path of pages) {
    const times: number[] = [];
    let size = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now();
      const { text, status } = await browser.open(path);
      times.push(performance.now() - began);
      size = Buffer.byteLength(text);
      if (status !== 200) slow.push(`${path} answered ${status}`);
    }
    const median = times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
    const name = path.replaceAll(crowd.id, ':app').replaceAll(world.acme.id, ':business').replaceAll(root.id, ':user');
    console.log(`${median.toFixed(1).padStart(6)} ms ${(size / 1000).toFixed(1).padStart(6)} kB  ${name}`);
    if (median > LONGEST || size > LARGEST) slow.push(name);
  }
  if (slow.length > 0) throw new Error(`Too slow or too large: ${slow.join(', ')}`);
});
