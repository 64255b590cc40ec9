import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPasswordLink } from '../../../src/accounts/password-links.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { APP_FIELDS, PLATFORM } from '../../support/app-pages.ts';
import { type Browser, type Fields, toBody } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startUnderHttps } from '../../support/https-server.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const bolt = await server.addBusiness('Bolt');
const root = await server.addUser('Root', [[server.acme, 'owner']], true);
await server.addMember(root, bolt, 'owner');
const console_ = await server.addApp({ name: 'Console' });
await server.connect({}, await server.signedIn(root));
const browser = await server.signedIn(root);
const other = await server.signedIn(root);
const csrf = await browser.csrf();
const invitation = await inviteInBrowser(browser);
const passwordLink = await makeLink();

async function makeLink(): Promise<string> {
  const wanted = { userId: server.ada.id, businessId: null };
  const made = await createPasswordLink(OPERATOR, server.storage().durable, wanted, server.clock());
  return `/password/${made?.token}`;
}

const inSection = (section: string, id: string): [string, Fields][] => [
  [section, { ...APP_FIELDS, form_key: '' }],
  [`${section}/${id}`, APP_FIELDS],
  [`${section}/${id}/secrets`, {}],
  [`${section}/${id}/secrets/${id}/remove`, {}],
  [`${section}/${id}/disable`, {}],
  [`${section}/${id}/enable`, {}],
  [`${section}/${id}/delete`, {}],
];

/** Every form, with valid fields. */
const FORMS: [path: string, fields: Fields][] = [
  ['/sign-in', { email: server.ada.email, password: PASSWORD }],
  ['/sign-out', {}],
  ['/consent', { decision: 'allow', consent_state: '' }],
  ['/settings/current-business', { business: bolt.id }],
  ['/settings/connected-apps/disconnect', { app: server.ledger.id, business: server.acme.id }],
  ['/settings/account/password', { current_password: PASSWORD, password: 'another good password' }],
  ['/settings/account/end-other-sessions', {}],
  ['/settings/members/invite', { role: 'owner', email: 'eve@example.com', business: server.acme.id }],
  [`/settings/members/invitations/${server.acme.id}/withdraw`, {}],
  [`/settings/members/${server.ada.id}/role`, { role: 'member', business: server.acme.id }],
  [`/settings/members/${server.ada.id}/remove`, { business: server.acme.id }],
  [`/settings/members/${server.ada.id}/password-link`, { business: server.acme.id }],
  [`/platform/users/${server.ada.id}/password-link`, {}],
  [`/platform/users/${server.ada.id}/verify-email`, {}],
  [passwordLink, { password: 'another good password' }],
  [invitation, {}],
  [`${invitation}/account`, { name: 'Eve', password: PASSWORD }],
  ...inSection(DEVELOPER, server.ledger.id),
  ...inSection(PLATFORM, console_.id),
];

interface Forgery {
  name: string;
  fields: Fields;
  headers?: Record<string, string>;
}

const FORGERIES: Forgery[] = [
  { name: 'without the token of its page', fields: {} },
  { name: 'with an empty token', fields: { csrf: '' } },
  { name: 'with a made-up token', fields: { csrf: 'A'.repeat(43) } },
  { name: 'with the token twice', fields: { csrf: [csrf, csrf] } },
  { name: 'with the token of another browser', fields: { csrf: await other.csrf() } },
  { name: 'from a foreign Origin', fields: { csrf }, headers: { origin: 'https://evil.example' } },
  { name: 'from the API host', fields: { csrf }, headers: { origin: server.api } },
  { name: 'from an opaque Origin', fields: { csrf }, headers: { origin: 'null' } },
  { name: 'that the browser calls cross-site', fields: { csrf }, headers: { 'sec-fetch-site': 'cross-site' } },
  { name: 'that the browser calls same-site', fields: { csrf }, headers: { 'sec-fetch-site': 'same-site' } },
];

const TABLES = [
  'users',
  'sessions',
  'apps',
  'app_secrets',
  'grants',
  'consents',
  'memberships',
  'invitations',
  'password_links',
] as const;

async function snapshot() {
  const db = server.storage().durable;
  return Promise.all(TABLES.map((table) => db.selectFrom(table).selectAll().execute()));
}

for (const { name, fields: token, headers = {} } of FORGERIES) {
  test(`no form is accepted ${name}, and nothing changes [S6] [D1]`, async () => {
    const before = await snapshot();
    const statuses = [];

    for (const [path, fields] of FORMS) {
      const body = toBody({ ...fields, ...token });
      statuses.push([path, (await browser.fetch(path, { method: 'POST', body, headers })).status]);
    }

    assert.deepEqual(
      statuses,
      FORMS.map(([path]) => [path, 403]),
    );
    assert.deepEqual(await snapshot(), before);
  });
}

test('every route that takes a form rejects one without its CSRF token [D1]', async () => {
  const taking = [...server.routes.web].filter(([, methods]) => methods.has('POST')).map(([route]) => route);
  const before = await snapshot();
  const statuses = new Map<string, number>();

  for (const route of taking) {
    const path = route.replace(/:\w+/g, server.ledger.id);
    statuses.set(route, (await browser.fetch(path, { method: 'POST', body: toBody({ sure: 'yes' }) })).status);
  }

  assert.ok(taking.length > 50, String(taking.length));
  assert.deepEqual(
    [...statuses].filter(([, status]) => status !== 403),
    [],
  );
  assert.deepEqual(await snapshot(), before);
});

test('no route that changes something does so on GET [D1]', async () => {
  const before = await snapshot();

  for (const [path, fields] of FORMS) {
    const { status } = await browser.fetch(`${path}?${toBody({ ...fields, csrf })}`);
    assert.ok(status < 500, `${path} ${status}`);
  }

  assert.deepEqual(await snapshot(), before);
});

test('a CSRF token in the query does not count [D1]', async () => {
  const response = await browser.fetch(`/settings/account/end-other-sessions?csrf=${csrf}`, {
    method: 'POST',
    body: toBody({}),
  });

  assert.equal(response.status, 403);
});

test('a same-origin form is accepted', async () => {
  const headers = { origin: server.web, 'sec-fetch-site': 'same-origin' };

  const response = await browser.fetch('/settings/current-business', {
    method: 'POST',
    body: toBody({ csrf, business: bolt.id }),
    headers,
  });

  assert.equal(response.status, 303);
});

test('the error page says what to do, and sets no session', async () => {
  const stranger: Browser = server.browse();
  await stranger.open('/sign-in');

  const response = await stranger.post('/sign-in', { email: server.ada.email, password: PASSWORD });

  assert.equal(response.status, 403);
  assert.match(response.text, /did not come from a page opened in this browser.*reload the page/s);
  assert.equal(stranger.cookies.get('__Host-session'), undefined);
});

test('a browser without cookies is told so, on every form, with the reason that applies to Safari on plain http', async () => {
  for (const path of ['/sign-in', '/settings/account/name']) {
    const { status, text } = await server.browse().post(path, { csrf, email: server.ada.email, password: PASSWORD });

    assert.equal(status, 403, path);
    assert.match(text, /Your browser sent no cookies.*Allow cookies for this site/);
    assert.match(text, /Safari then drops its cookies/);
    assert.doesNotMatch(text, /did not come from/);
  }
});

test('with https, the reason that applies to Safari is not given', async () => {
  const { web } = await startUnderHttps();

  const response = await fetch(`http://127.0.0.1:${web}/sign-in`, { method: 'POST', body: toBody({ csrf }) });

  assert.match(await response.text(), /Your browser sent no cookies[^<]*try again\.</);
});

test('a form sent after signing out in another tab says that nobody is signed in, and links to the sign-in page', async () => {
  const tab = await server.signedIn();
  const page = await tab.open('/settings/account');
  await tab.submit(await tab.open('/sign-out'), '/sign-out');

  const { status, text } = await tab.submit(page, '/settings/account/name', { name: 'Changed' });

  assert.equal(status, 403);
  assert.match(text, /You are signed out, so nothing was changed\./);
  assert.match(text, /href="\/sign-in"/);
});

test('a foreign site learns nothing from a form that it sends: without cookies, too, it is foreign', async () => {
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };

  const { status, text } = await server.browse().post('/sign-in', { csrf }, headers);

  assert.equal(status, 403);
  assert.match(text, /did not come from a page opened in this browser/);
});

test('signing in renews the CSRF token: a form opened before is rejected afterwards [S6]', async () => {
  const visitor = server.browse();
  const form = await visitor.open('/sign-in');
  await visitor.signIn(server.ada.email, PASSWORD);

  const again = await visitor.signIn(server.ada.email, PASSWORD, form);

  assert.equal(again.status, 403);
});

test('a CSRF token of one session is rejected in another session of the same browser [D1]', async () => {
  const visitor = server.browse();
  await visitor.signIn(server.ada.email, PASSWORD);
  const earlier = await visitor.csrf();
  await visitor.signIn(server.ada.email, PASSWORD);

  const rejected = await visitor.post('/settings/account/end-other-sessions', { csrf: earlier });
  const accepted = await visitor.post('/settings/account/end-other-sessions', { csrf: await visitor.csrf() });

  assert.deepEqual([rejected.status, accepted.status], [403, 200]);
});
