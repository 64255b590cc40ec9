import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Browser } from '../../support/browser.ts';
import { toBody } from '../../support/browser.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const root = await server.addUser('Root', [], true);
const console_ = await server.addApp({ name: 'Console' });
const admin = await server.signedIn(root);
const owner = await server.signedIn();
const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const UNKNOWN_ID = '01a1dd0a-eb11-7000-997c-587fb8fee946';

/** Every address of the platform's pages that the server has, with ids that exist. */
const ADDRESSES = [...server.routes.web.keys()]
  .filter((path) => path === '/platform' || path.startsWith('/platform/'))
  .map((path) => fill(path, idFor(path)));

function fill(path: string, id: string): string {
  return path.replace(/:\w+/g, id);
}

function idFor(path: string): string {
  if (path.startsWith('/platform/businesses')) return server.acme.id;
  if (path.startsWith('/platform/users')) return server.ada.id;
  return path.startsWith('/platform/apps') ? server.ledger.id : console_.id;
}

const TABLES = ['users', 'sessions', 'apps', 'app_secrets', 'endpoints', 'audit_entries', 'events'] as const;

/** Without what the dispatcher of webhooks changes in the background. */
async function snapshot() {
  const tables = TABLES.map((table) => server.storage().durable.selectFrom(table).selectAll().execute());
  return (await Promise.all(tables)).map((rows) => rows.map((row) => ({ ...row, dispatched_at: undefined })));
}

async function send(browser: Browser, path: string, method: string, csrf: string): Promise<number> {
  const isReading = method === 'GET' || method === 'HEAD';
  const response = await browser.fetch(path, isReading ? { method } : { method, body: toBody({ csrf }) });
  return response.status;
}

test('these tests find the platform pages', () => {
  assert.ok(ADDRESSES.length > 20, `${ADDRESSES.length}`);
  for (const part of ['apps', 'businesses', 'users']) assert.ok(ADDRESSES.includes(`/platform/${part}`), part);
});

const VISITORS = { 'an owner of a business': owner, 'someone who is not signed in': server.browse() };

for (const [who, browser] of Object.entries(VISITORS)) {
  test(`for ${who} every platform page is 404, for every method, and nothing changes [D5]`, async () => {
    const csrf = await browser.csrf().catch(() => '');
    const before = await snapshot();

    for (const path of ADDRESSES) {
      for (const method of VERBS) assert.equal(await send(browser, path, method, csrf), 404, `${method} ${path}`);
    }

    assert.deepEqual(await snapshot(), before);
  });
}

test('a former platform admin gets 404 from the next request on', async () => {
  const former = await server.addUser('Former', [], true);
  const browser = await server.signedIn(former);
  assert.equal((await browser.open('/platform/users')).status, 200);

  await server.storage().durable.updateTable('users').set({ platform_admin: 0 }).where('id', '=', former.id).execute();

  assert.equal((await browser.open('/platform/users')).status, 404);
});

test('unknown and malformed ids are 404 for a platform admin, for every method [D5]', async () => {
  const csrf = await admin.csrf();
  const before = await snapshot();
  const below = [...server.routes.web.keys()].filter((path) => /^\/platform\/(apps|businesses|users)\/:/.test(path));
  assert.ok(below.length >= 7, `${below.length}`);

  for (const id of [UNKNOWN_ID, 'nonsense', '%00', "'", server.ledger.id.toUpperCase()]) {
    for (const path of below) {
      for (const method of VERBS)
        assert.equal(await send(admin, fill(path, id), method, csrf), 404, `${method} ${path} ${id}`);
    }
  }
  assert.deepEqual(await snapshot(), before);
});

test('an id of one kind does not open a page of another kind', async () => {
  const csrf = await admin.csrf();

  for (const path of [
    `/platform/apps/${server.ada.id}`,
    `/platform/users/${server.acme.id}`,
    `/platform/businesses/${server.ledger.id}`,
  ]) {
    assert.equal((await admin.open(path)).status, 404, path);
  }
  assert.equal((await admin.post(`/platform/users/${server.ledger.id}/disable`, { csrf })).status, 404);
});

test('no platform form is accepted from another site [D1]', async () => {
  const before = await snapshot();
  const switches = [`/platform/apps/${server.ledger.id}/pause`, `/platform/apps/${server.ledger.id}/resume`];
  const people = [`/platform/users/${server.ada.id}/disable`, `/platform/users/${server.ada.id}/enable`];

  for (const path of [...switches, ...people]) {
    for (const csrf of ['', await owner.csrf()]) {
      assert.equal((await admin.post(path, { csrf })).status, 403, path);
    }
  }
  assert.deepEqual(await snapshot(), before);
});

test('for others, a platform page is byte for byte the same as any page that does not exist', async () => {
  const fetchPage = async (browser: Browser, path: string) => {
    const response = await browser.fetch(path);
    const headers = [...response.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id');
    return { status: response.status, headers, text: await response.text() };
  };

  for (const browser of [owner, VISITORS['someone who is not signed in']]) {
    const nowhere = await fetchPage(browser, '/settings/nowhere');
    for (const path of ['/platform', '/platform/users', `/platform/users/${server.ada.id}`, '/platform/nothing']) {
      assert.deepEqual(await fetchPage(browser, path), nowhere, path);
    }
  }
});
