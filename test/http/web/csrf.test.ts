import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPasswordLink } from '../../../src/accounts/password-links.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { DEVELOPER, PLATFORM, TYPED } from '../../support/app-pages.ts';
import { type Browser, type Fields, toBody } from '../../support/browser.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { PASSWORD } from '../../support/people.ts';
import { newWorld } from '../../support/world.ts';

const world = await newWorld();
const bolt = await world.addBusiness('Bolt');
const root = await world.addUser('Root', [[world.acme, 'owner']], true);
await world.addMember(root, bolt, 'owner');
const console_ = await world.addApp({ name: 'Console' });
await world.connect({}, await world.signedIn(root));
const browser = await world.signedIn(root);
const other = await world.signedIn(root);
const csrf = await browser.csrf();
const invitation = await inviteInBrowser(browser);
const passwordLink = await makeLink();

async function makeLink(): Promise<string> {
  const wanted = { userId: world.ada.id, businessId: null };
  const made = await createPasswordLink(OPERATOR, world.storage().durable, wanted, world.clock());
  return `/password/${made?.token}`;
}

const inSection = (section: string, id: string): [string, Fields][] => [
  [section, { ...TYPED, ticket: '' }],
  [`${section}/${id}`, TYPED],
  [`${section}/${id}/secrets`, {}],
  [`${section}/${id}/secrets/${id}/remove`, {}],
  [`${section}/${id}/disable`, {}],
  [`${section}/${id}/enable`, {}],
  [`${section}/${id}/delete`, {}],
];

/** Every form there is, with fields that would do its work. */
const FORMS: [path: string, fields: Fields][] = [
  ['/sign-in', { email: world.ada.email, password: PASSWORD }],
  ['/sign-out', {}],
  ['/consent', { answer: 'allow', question: '' }],
  ['/settings/current-business', { business: bolt.id }],
  ['/settings/connected-apps/disconnect', { app: world.ledger.id, business: world.acme.id }],
  ['/settings/account/password', { current_password: PASSWORD, password: 'another good password' }],
  ['/settings/account/end-other-sessions', {}],
  ['/settings/members/invite', { role: 'owner', email: 'eve@example.com', business: world.acme.id }],
  [`/settings/members/invitations/${world.acme.id}/withdraw`, {}],
  [`/settings/members/${world.ada.id}/role`, { role: 'member', business: world.acme.id }],
  [`/settings/members/${world.ada.id}/remove`, { business: world.acme.id }],
  [`/settings/members/${world.ada.id}/password-link`, { business: world.acme.id }],
  [`/platform/users/${world.ada.id}/password-link`, {}],
  [`/platform/users/${world.ada.id}/verify-email`, {}],
  [passwordLink, { password: 'another good password' }],
  [invitation, {}],
  [`${invitation}/account`, { name: 'Eve', password: PASSWORD }],
  ...inSection(DEVELOPER, world.ledger.id),
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
  { name: 'from the API host', fields: { csrf }, headers: { origin: world.api } },
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
  const db = world.storage().durable;
  return Promise.all(TABLES.map((table) => db.selectFrom(table).selectAll().execute()));
}

for (const { name, fields: token, headers = {} } of FORGERIES) {
  test(`no form is taken ${name}, and nothing changes [S6] [D1]`, async () => {
    const before = await snapshot();
    const statuses = [];

    for (const [path, fields] of FORMS) {
      const body = toBody({ ...fields, ...token });
      statuses.push([path, (await browser.ask(path, { method: 'POST', body, headers })).status]);
    }

    assert.deepEqual(
      statuses,
      FORMS.map(([path]) => [path, 403]),
    );
    assert.deepEqual(await snapshot(), before);
  });
}

test('every address of the server that takes a form refuses one without the token of its page [D1]', async () => {
  const taking = [...world.routes.web].filter(([, methods]) => methods.has('POST')).map(([route]) => route);
  const before = await snapshot();
  const statuses = new Map<string, number>();

  for (const route of taking) {
    const path = route.replace(/:\w+/g, world.ledger.id);
    statuses.set(route, (await browser.ask(path, { method: 'POST', body: toBody({ sure: 'yes' }) })).status);
  }

  assert.ok(taking.length > 50, String(taking.length));
  assert.deepEqual(
    [...statuses].filter(([, status]) => status !== 403),
    [],
  );
  assert.deepEqual(await snapshot(), before);
});

test('no address that changes something does so when it is only opened [D1]', async () => {
  const before = await snapshot();

  for (const [path, fields] of FORMS) {
    const { status } = await browser.ask(`${path}?${toBody({ ...fields, csrf })}`);
    assert.ok(status < 500, `${path} ${status}`);
  }

  assert.deepEqual(await snapshot(), before);
});

test('the token in the address is not the token in the form [D1]', async () => {
  const answer = await browser.ask(`/settings/account/end-other-sessions?csrf=${csrf}`, {
    method: 'POST',
    body: toBody({}),
  });

  assert.equal(answer.status, 403);
});

test('a form of our own page, marked by the browser as such, is taken', async () => {
  const headers = { origin: world.web, 'sec-fetch-site': 'same-origin' };

  const answer = await browser.ask('/settings/current-business', {
    method: 'POST',
    body: toBody({ csrf, business: bolt.id }),
    headers,
  });

  assert.equal(answer.status, 303);
});

test('the refusal says what to do, and sets no session', async () => {
  const stranger: Browser = world.browse();

  const answer = await stranger.post('/sign-in', { email: world.ada.email, password: PASSWORD });

  assert.equal(answer.status, 403);
  assert.match(answer.text, /did not come from a page opened in this browser.*reload the page/s);
  assert.equal(stranger.cookies.get('__Host-session'), undefined);
});

test('signing in renews the CSRF token: a form opened before is rejected afterwards [S6]', async () => {
  const visitor = world.browse();
  const form = await visitor.open('/sign-in');
  await visitor.signIn(world.ada.email, PASSWORD);

  const again = await visitor.signIn(world.ada.email, PASSWORD, form);

  assert.equal(again.status, 403);
});

test('a CSRF token of one session is rejected in another session of the same browser [D1]', async () => {
  const visitor = world.browse();
  await visitor.signIn(world.ada.email, PASSWORD);
  const earlier = await visitor.csrf();
  await visitor.signIn(world.ada.email, PASSWORD);

  const rejected = await visitor.post('/settings/account/end-other-sessions', { csrf: earlier });
  const accepted = await visitor.post('/settings/account/end-other-sessions', { csrf: await visitor.csrf() });

  assert.deepEqual([rejected.status, accepted.status], [403, 200]);
});
