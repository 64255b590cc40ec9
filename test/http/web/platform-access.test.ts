import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Browser } from '../../support/browser.ts';
import { toBody } from '../../support/browser.ts';
import { newWorld } from '../../support/world.ts';

const world = await newWorld();
const root = await world.addUser('Root', [], true);
const console_ = await world.addApp({ name: 'Console' });
const admin = await world.signedIn(root);
const owner = await world.signedIn();
const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const NOBODY = '01a1dd0a-eb11-7000-997c-587fb8fee946';

/** Every address of the platform's pages that the server has, with ids that exist. */
const ADDRESSES = [...world.routes.web.keys()]
  .filter((path) => path === '/platform' || path.startsWith('/platform/'))
  .map((path) => fill(path, idFor(path)));

function fill(path: string, id: string): string {
  return path.replace(/:\w+/g, id);
}

function idFor(path: string): string {
  if (path.startsWith('/platform/businesses')) return world.acme.id;
  if (path.startsWith('/platform/users')) return world.ada.id;
  return path.startsWith('/platform/apps') ? world.ledger.id : console_.id;
}

const TABLES = ['users', 'sessions', 'apps', 'app_secrets', 'endpoints', 'audit_entries', 'events'] as const;
const snapshot = () =>
  Promise.all(TABLES.map((table) => world.storage().durable.selectFrom(table).selectAll().execute()));

async function ask(browser: Browser, path: string, method: string, csrf: string): Promise<number> {
  const isReading = method === 'GET' || method === 'HEAD';
  const answer = await browser.ask(path, isReading ? { method } : { method, body: toBody({ csrf }) });
  return answer.status;
}

test('there are platform pages to try', () => {
  assert.ok(ADDRESSES.length > 20, `${ADDRESSES.length}`);
  for (const part of ['apps', 'businesses', 'users']) assert.ok(ADDRESSES.includes(`/platform/${part}`), part);
});

const VISITORS = { 'an owner of a business': owner, 'someone who is not signed in': world.browse() };

for (const [who, browser] of Object.entries(VISITORS)) {
  test(`for ${who} every platform page is 404, for every method, and nothing changes [D5]`, async () => {
    const csrf = await browser.csrf().catch(() => '');
    const before = await snapshot();

    for (const path of ADDRESSES) {
      for (const method of VERBS) assert.equal(await ask(browser, path, method, csrf), 404, `${method} ${path}`);
    }

    assert.deepEqual(await snapshot(), before);
  });
}

test('a former platform admin gets 404 from the next request on', async () => {
  const former = await world.addUser('Former', [], true);
  const browser = await world.signedIn(former);
  assert.equal((await browser.open('/platform/users')).status, 200);

  await world.storage().durable.updateTable('users').set({ platform_admin: 0 }).where('id', '=', former.id).execute();

  assert.equal((await browser.open('/platform/users')).status, 404);
});

test('unknown and malformed ids are 404 for a platform admin, for every method [D5]', async () => {
  const csrf = await admin.csrf();
  const before = await snapshot();
  const below = [...world.routes.web.keys()].filter((path) => /^\/platform\/(apps|businesses|users)\/:/.test(path));
  assert.ok(below.length >= 7, `${below.length}`);

  for (const id of [NOBODY, 'nonsense', '%00', "'", world.ledger.id.toUpperCase()]) {
    for (const path of below) {
      for (const method of VERBS)
        assert.equal(await ask(admin, fill(path, id), method, csrf), 404, `${method} ${path} ${id}`);
    }
  }
  assert.deepEqual(await snapshot(), before);
});

test('an id of one kind opens nothing of another kind', async () => {
  const csrf = await admin.csrf();

  for (const path of [
    `/platform/apps/${world.ada.id}`,
    `/platform/users/${world.acme.id}`,
    `/platform/businesses/${world.ledger.id}`,
  ]) {
    assert.equal((await admin.open(path)).status, 404, path);
  }
  assert.equal((await admin.post(`/platform/users/${world.ledger.id}/disable`, { csrf })).status, 404);
});

test('no platform form is accepted from another site [D1]', async () => {
  const before = await snapshot();
  const switches = [`/platform/apps/${world.ledger.id}/pause`, `/platform/apps/${world.ledger.id}/resume`];
  const people = [`/platform/users/${world.ada.id}/disable`, `/platform/users/${world.ada.id}/enable`];

  for (const path of [...switches, ...people]) {
    for (const csrf of ['', await owner.csrf()]) {
      assert.equal((await admin.post(path, { csrf })).status, 403, path);
    }
  }
  assert.deepEqual(await snapshot(), before);
});

test('for others, a platform page is byte for byte the same as any page that does not exist', async () => {
  const look = async (browser: Browser, path: string) => {
    const answer = await browser.ask(path);
    const headers = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id');
    return { status: answer.status, headers, text: await answer.text() };
  };

  for (const browser of [owner, VISITORS['someone who is not signed in']]) {
    const nowhere = await look(browser, '/settings/nowhere');
    for (const path of ['/platform', '/platform/users', `/platform/users/${world.ada.id}`, '/platform/nothing']) {
      assert.deepEqual(await look(browser, path), nowhere, path);
    }
  }
});
