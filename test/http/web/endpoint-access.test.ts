import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { insertEndpoint } from '../../../src/webhooks/endpoints.ts';
import { PLATFORM } from '../../support/app-pages.ts';
import { type Browser, type Fields, toBody } from '../../support/browser.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const keys = createKeyring(server.settings.secretKeys);
const bolt = await server.addBusiness('Bolt');
const foreign = await server.addApp({ name: 'Foreign', ownerBusinessId: bolt.id });
const platform = await server.addApp({ name: 'Console' });
const owner = await server.signedIn();
const otherBrowser = await server.signedIn();
const tokens = { own: await owner.csrf(), other: await otherBrowser.csrf() };
const db = () => server.storage().durable;
const UNKNOWN_ID = '01a1dd0a-eb11-7000-997c-587fb8fee946';
const TYPED = { url: 'https://evil.example/', events: ['grant.created'] };

async function listen(appId: string): Promise<string> {
  const addition = { appId, url: 'https://private.example/hook', eventTypes: ['grant.revoked'] };
  return (await insertEndpoint(db(), keys, addition, server.clock())).endpoint.id;
}

const endpoints = {
  own: await listen(server.ledger.id),
  foreign: await listen(foreign.id),
  platform: await listen(platform.id),
};

type Request = [method: 'GET' | 'POST', path: string, fields: Fields];

/** Every path of one endpoint, with valid form fields. */
function verbsOfOne(path: string): Request[] {
  const posts: Request[] = ['disable', 'enable', 'secret', 'test', 'remove', `deliveries/${UNKNOWN_ID}/resend`].map(
    (action) => ['POST', `${path}/${action}`, { old_secret_until: '' }],
  );
  const pages: Request[] = ['', '/remove', `/deliveries/${UNKNOWN_ID}`].map((page) => ['GET', path + page, {}]);
  return [...pages, ['POST', path, TYPED], ...posts];
}

function requestsOf(section: string, appId: string, endpointId: string): Request[] {
  const list = `${section}/${appId}/endpoints`;
  return [['GET', list, {}], ['GET', `${list}/new`, {}], ['POST', list, TYPED], ...verbsOfOne(`${list}/${endpointId}`)];
}

const snapshot = async () => [
  await db().selectFrom('endpoints').selectAll().execute(),
  await db().selectFrom('events').select('id').where('type', '=', 'endpoint.test').execute(),
];

async function assertNotFound(browser: Browser, requests: Request[]): Promise<void> {
  const csrf = await browser.csrf();
  const before = await snapshot();
  for (const [method, path, fields] of requests) {
    const page = method === 'GET' ? await browser.open(path) : await browser.post(path, { ...fields, csrf });
    assert.equal(page.status, 404, `${method} ${path}`);
    assert.doesNotMatch(page.text, /private\.example|Foreign|Console|whsec_/);
  }
  assert.deepEqual(await snapshot(), before);
}

const STRANGE: [whose: string, appId: string, endpointId: string][] = [
  ['another business', foreign.id, endpoints.foreign],
  ['the platform', platform.id, endpoints.platform],
  ['no business', UNKNOWN_ID, UNKNOWN_ID],
  ['no app, being no id', 'nonsense', endpoints.own],
];

for (const [whose, appId, endpointId] of STRANGE) {
  test(`the endpoints of an app of ${whose} are not found, for every request [D5]`, async () => {
    await assertNotFound(await server.signedIn(), requestsOf(DEVELOPER, appId, endpointId));
  });
}

for (const id of [endpoints.foreign, endpoints.platform, UNKNOWN_ID, 'nonsense', endpoints.own.toUpperCase()]) {
  test(`no endpoint ${id} is found under an app of one’s own that has none of that id [D5]`, async () => {
    await assertNotFound(await server.signedIn(), verbsOfOne(`${DEVELOPER}/${server.ledger.id}/endpoints/${id}`));
  });
}

test('for a member who may not change the app its endpoints are 404, and no page links to them [D5]', async () => {
  const mia = await server.signedIn(await server.addUser('Mia', [[server.acme, 'member']]));

  assert.doesNotMatch((await mia.open(`${DEVELOPER}/${server.ledger.id}`)).text, /endpoints"/);
  await assertNotFound(mia, requestsOf(DEVELOPER, server.ledger.id, endpoints.own));
});

test('the owner of another business gets 404 for all of them [D5]', async () => {
  const olaf = await server.signedIn(await server.addUser('Olaf', [[bolt, 'owner']]));

  await assertNotFound(olaf, requestsOf(DEVELOPER, server.ledger.id, endpoints.own));
});

test('an owner of a business gets 404 below the platform’s apps [D5]', async () => {
  await assertNotFound(await server.signedIn(), requestsOf(PLATFORM, platform.id, endpoints.platform));
});

test('a platform admin finds no endpoints of a business below the platform’s apps [D5]', async () => {
  const root = await server.signedIn(await server.addUser('Root', [], true));

  await assertNotFound(root, requestsOf(PLATFORM, server.ledger.id, endpoints.own));
});

test('a visitor without a session is sent to sign in, and sees nothing', async () => {
  const page = await server.browse().open(`${DEVELOPER}/${server.ledger.id}/endpoints/${endpoints.own}`);

  assert.match(page.url, /\/sign-in/);
  assert.doesNotMatch(page.text, /private\.example/);
});

test('an admin of the business sees and changes what its owner does', async () => {
  const amy = await server.signedIn(await server.addUser('Amy', [[server.acme, 'admin']]));
  const path = `${DEVELOPER}/${server.ledger.id}/endpoints/${await listen(server.ledger.id)}`;

  const page = await amy.submit(await amy.open(path), path, { url: 'https://amy.example/', events: 'grant.created' });

  assert.match(page.text, /<h2 class="title">https:\/\/amy\.example\//);
});

const FORGERIES: [what: string, fields: Fields, headers: Record<string, string>][] = [
  ['without the token of its page', {}, {}],
  ['with a made-up token', { csrf: 'A'.repeat(43) }, {}],
  ['with the token of another browser', { csrf: tokens.other }, {}],
  ['from a foreign Origin', { csrf: tokens.own }, { origin: 'https://evil.example' }],
];

for (const [what, token, headers] of FORGERIES) {
  test(`no form about endpoints is accepted ${what}, and nothing changes [S6] [D1]`, async () => {
    const before = await snapshot();

    for (const [method, path, fields] of requestsOf(DEVELOPER, server.ledger.id, endpoints.own)) {
      if (method === 'GET') continue;
      const body = toBody({ ...fields, ...token });
      assert.equal((await owner.fetch(path, { method, body, headers })).status, 403, path);
    }
    assert.deepEqual(await snapshot(), before);
  });
}
