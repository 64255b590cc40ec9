import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../../src/lib/ids.ts';
import { addLiveGrants, addMembers } from '../../support/bulk-data.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const owner = await server.signedIn();
const admin = await server.signedIn(await server.addUser('Root', [], true));
const people = Array.from({ length: 10_100 }, () => newId(server.clock()));
await addMembers(server.storage(), { businessId: server.acme.id, userIds: people }, server.clock());

/** Users who have connected a new app, each with some grants. */
async function appWith({ users, grantsEach = 1 }: { users: number; grantsEach?: number }): Promise<RegisteredApp> {
  const app = await server.addApp({ ownerBusinessId: server.acme.id });
  const parties = (userId: string) => ({ appId: app.id, businessId: server.acme.id, userId });
  const all = people.slice(0, users).flatMap((userId) => Array.from({ length: grantsEach }, () => parties(userId)));
  await addLiveGrants(server.storage(), all, server.clock());
  return app;
}

const [exact, many, dense] = [
  await appWith({ users: 9_900, grantsEach: 2 }),
  await appWith({ users: 10_100 }),
  await appWith({ users: 210, grantsEach: 100 }),
];

const PAGES: [what: string, address: (app: RegisteredApp) => string, words: [RegExp, RegExp, RegExp]][] = [
  [
    'a page that asks before an app is disabled',
    ({ id }) => server.acmePath(`developer/${id}/disable`),
    [/1 business, 9,900 users/, />1 business, more than 10,000 users/, /at least 1 business, at least 2\d\d users/],
  ],
  [
    'a page that asks before an app is paused',
    ({ id }) => `/platform/apps/${id}/pause`,
    [/1 business, 9,900 users/, />1 business, more than 10,000 users/, /at least 1 business, at least 2\d\d users/],
  ],
  [
    'a page that asks before an app is disconnected for everyone',
    ({ id }) => server.acmePath(`connected-apps/${id}/disconnect`),
    [/<dd>9,900<\/dd>/, /<dd>more than 10,000<\/dd>/, /<dd>at least 2\d\d<\/dd>/],
  ],
  [
    'a page that asks before an app is blocked',
    ({ id }) => server.acmePath(`settings/apps/${id}/block`),
    [/by 9,900 people now/, /by more than 10,000 people now/, /by at least 2\d\d people now/],
  ],
];

for (const [what, address, words] of PAGES) {
  test(`${what} counts people exactly to 10,000, and says so if it stops earlier`, async () => {
    for (const [index, app] of [exact, many, dense].entries()) {
      const browser = address(app).startsWith('/platform') ? admin : owner;

      const { text } = await browser.open(address(app));

      assert.match(text, words[index] ?? /never/);
    }
  });
}

test('lists of apps count at least some connections of each, and exactly if there are few', async () => {
  const few = await appWith({ users: 3 });

  const lists = [await owner.open(server.acmePath('developer')), await admin.open('/platform/apps')];

  for (const { text } of lists) {
    const counts = [...text.matchAll(/<span>([^<]*) connections<\/span>/g)].map(([, count]) => count);
    assert.ok(counts.includes('3'), `${counts} of ${few.id}`);
    assert.ok(counts.includes('at least 1,000'), String(counts));
  }
});

test('the developer of an app sees how many users of a business it has, at least', async () => {
  const { text } = await owner.open(server.acmePath(`developer/${many.id}/connections`));

  assert.match(text, /<strong>Acme<\/strong><\/td><td data-label="Users">at least 500</);
});
