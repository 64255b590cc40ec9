import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APP_FIELDS, PLATFORM } from '../../support/app-pages.ts';
import type { Browser, Fields } from '../../support/browser.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const bolt = await server.addBusiness('Bolt');
const foreign = await server.addApp({ name: 'Foreign', ownerBusinessId: bolt.id });
const platform = await server.addApp({ name: 'Console' });
const secretsOf = async (appId: string) =>
  (await server.storage().durable.selectFrom('app_secrets').selectAll().execute()).filter(
    ({ app_id }) => app_id === appId,
  );

/** Every path below an app, with valid form fields. */
function requestsOf(id: string, secretId: string): [method: 'GET' | 'POST', path: string, fields: Fields][] {
  const path = `${DEVELOPER}/${id}`;
  return [
    ['GET', path, {}],
    ['GET', `${path}/delete`, {}],
    ['GET', `${path}/disable`, {}],
    ['GET', `${path}/secrets/${secretId}/remove`, {}],
    ['POST', path, APP_FIELDS],
    ['POST', `${path}/secrets`, {}],
    ['POST', `${path}/secrets/${secretId}/remove`, {}],
    ['POST', `${path}/disable`, {}],
    ['POST', `${path}/enable`, {}],
    ['POST', `${path}/delete`, {}],
  ];
}

async function send(browser: Browser, [method, path, fields]: ReturnType<typeof requestsOf>[number]) {
  return method === 'GET' ? browser.open(path) : browser.post(path, { ...fields, csrf: await browser.csrf() });
}

const snapshot = async () => [
  await server.storage().durable.selectFrom('apps').selectAll().execute(),
  await server.storage().durable.selectFrom('app_secrets').selectAll().execute(),
];

const STRANGE: [whose: string, id: string][] = [
  ['another business', foreign.id],
  ['the platform', platform.id],
  ['no business', '01a1dd0a-eb11-7000-997c-587fb8fee946'],
  ['no app, being no id', 'nonsense'],
];

for (const [whose, id] of STRANGE) {
  test(`an app of ${whose} is not found under any address [D5]`, async () => {
    const owner = await server.signedIn();
    const [secret] = await secretsOf(id);
    const before = await snapshot();

    for (const request of requestsOf(id, secret?.id ?? id)) {
      const { status, text } = await send(owner, request);
      assert.equal(status, 404, request.slice(0, 2).join(' '));
      assert.doesNotMatch(text, /Foreign|Console/);
    }
    assert.deepEqual(await snapshot(), before);
  });
}

test('a secret of another app is not found under an app of one’s own [D5]', async () => {
  const owner = await server.signedIn();
  const own = await server.addApp({ name: 'Own', ownerBusinessId: server.acme.id });
  const csrf = await owner.csrf();
  await owner.post(`${DEVELOPER}/${own.id}/secrets`, { csrf });
  const [secret] = await secretsOf(foreign.id);

  const { status } = await owner.post(`${DEVELOPER}/${own.id}/secrets/${secret?.id}/remove`, { csrf });

  assert.equal(status, 404);
  assert.equal((await secretsOf(foreign.id)).length, 1);
  assert.equal((await secretsOf(own.id)).length, 2);
});

test('a member may see the apps of the business, without forms to change them', async () => {
  const mia = await server.addUser('Mia', [[server.acme, 'member']]);
  const browser = await server.signedIn(mia);

  const list = await browser.open(DEVELOPER);
  const page = await browser.open(`${DEVELOPER}/${server.ledger.id}`);

  assert.match(list.text, />Ledger</);
  assert.doesNotMatch(list.text, /New app/);
  assert.match(page.text, /https:\/\/ledger\.example\/callback/);
  assert.match(page.text, /read:invoices/);
  assert.doesNotMatch(page.text, new RegExp(`action="${DEVELOPER}`));
});

test('a member who sends a change anyway gets 404, and nothing changes', async () => {
  const max = await server.addUser('Max', [[server.acme, 'member']]);
  const browser = await server.signedIn(max);
  const [secret] = await secretsOf(server.ledger.id);
  const before = await snapshot();
  const requests = requestsOf(server.ledger.id, secret?.id ?? '').slice(1);

  for (const request of [
    ...requests,
    ['GET', `${DEVELOPER}/new`, {}],
    ['POST', DEVELOPER, APP_FIELDS],
  ] as typeof requests) {
    const { status } = await send(browser, request);
    assert.equal(status, 404, request.slice(0, 2).join(' '));
  }
  assert.deepEqual(await snapshot(), before);
});

test('an admin of the business may change its apps', async () => {
  const amy = await server.addUser('Amy', [[server.acme, 'admin']]);
  const browser = await server.signedIn(amy);
  const app = await server.addApp({ name: 'Shared', ownerBusinessId: server.acme.id });
  const path = `${DEVELOPER}/${app.id}`;

  const page = await browser.submit(await browser.open(path), path, { ...APP_FIELDS, name: 'Shared more' });

  assert.match(page.text, /<h1>Shared more/);
});

test('permissions depend on the role in the business of the address, not in another [D5]', async () => {
  const lea = await server.addUser('Lea', [
    [server.acme, 'member'],
    [bolt, 'owner'],
  ]);
  const browser = await server.signedIn(lea);

  const inAcme = await browser.open(DEVELOPER);
  const hidden = await browser.open(`${DEVELOPER}/${foreign.id}`);
  const inBolt = await browser.open(`/businesses/${bolt.id}/developer`);
  const found = await browser.open(`/businesses/${bolt.id}/developer/${foreign.id}`);

  assert.doesNotMatch(inAcme.text, /New app/);
  assert.equal(hidden.status, 404);
  assert.doesNotMatch(hidden.text, /Foreign/);
  assert.match(inBolt.text, /New app/);
  assert.equal(found.status, 200);
});

test('a platform admin cannot manage the apps of a business that they do not belong to [D5]', async () => {
  const root = await server.addUser('Root', [], true);
  const browser = await server.signedIn(root);

  const asBusiness = await browser.open(`${DEVELOPER}/${server.ledger.id}`);
  const asPlatform = await browser.open(`${PLATFORM}/${server.ledger.id}`);

  assert.equal(asBusiness.status, 404);
  assert.equal(asPlatform.status, 404);
});
