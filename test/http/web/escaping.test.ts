import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertUser } from '../../../src/accounts/users.ts';
import { newId } from '../../../src/lib/ids.ts';
import { PLATFORM, registerInBrowser } from '../../support/app-pages.ts';
import { PASSWORD, REDIRECT_URI } from '../../support/fixtures.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { startTestServer } from '../../support/test-server.ts';

const MARKUP = `"'><img src=x onerror=alert(1)>&amp;`;
const SAFE = '&quot;&#39;&gt;&lt;img src=x onerror=alert(1)&gt;&amp;amp;';

const server = await startTestServer({ PLATFORM_NAME: MARKUP });
const DEVELOPER = '/settings/developer';
const business = await server.addBusiness(MARKUP);
const other = await server.addBusiness('Bolt');
const mallory = await server.addUser('Mallory', [[business, 'owner']], true);
await server.addMember(mallory, other, 'member');
const app = await server.addApp({ name: MARKUP, ownerBusinessId: business.id });
const platformApp = await server.addApp({ name: MARKUP });
const browser = server.browse();
const form = await browser.open('/sign-in');
await browser.submit(form, '/sign-in', { email: mallory.email, password: PASSWORD }, { 'user-agent': MARKUP });
await browser.submit(await browser.open('/settings/account'), '/settings/current-business', { business: business.id });
const user = await insertUser(server.storage().durable, {
  ...(await server
    .storage()
    .durable.selectFrom('users')
    .selectAll()
    .where('id', '=', mallory.id)
    .executeTakeFirstOrThrow()),
  id: newId(server.clock()),
  email: `${MARKUP}@example.com`,
  email_skeleton: `${MARKUP}@example.com`,
  name: MARKUP,
});
assert.ok(user);
await server.addMember(user, business, 'member');
const ofApp = `${DEVELOPER}/${app.id}`;
const listening = { url: 'https://hooks.example/', events: ['grant.created'] };
const added = await browser.submit(await browser.open(`${ofApp}/endpoints/new`), `${ofApp}/endpoints`, listening);
const [, endpoint = ''] = /\/endpoints\/([0-9a-f-]{36})/.exec(added.text) ?? [];
const invitation = await inviteInBrowser(browser);

function assertEscaped(text: string): void {
  assert.doesNotMatch(text, /<img src=x/);
  assert.ok(text.includes(SAFE), text);
}

const PAGES: [what: string, path: string][] = [
  ['the sign-in page', '/sign-in'],
  ['the sign-out page', '/sign-out'],
  ['the account page', '/settings/account'],
  ['the connected apps', '/settings/connected-apps'],
  ['the list of apps', DEVELOPER],
  ['the form for a new app', `${DEVELOPER}/new`],
  ['an app', `${DEVELOPER}/${app.id}`],
  ['the confirmation before deleting an app', `${DEVELOPER}/${app.id}/delete`],
  ['the confirmation before disabling an app', `${ofApp}/disable`],
  ['the requests of an app', `${ofApp}/requests`],
  ['a search in the requests of an app', `${ofApp}/requests?${new URLSearchParams({ q: MARKUP })}`],
  ['the connections of an app', `${ofApp}/connections`],
  ['the webhooks of an app', `${ofApp}/endpoints`],
  ['a webhook', `${ofApp}/endpoints/${endpoint}`],
  ['the confirmation before removing a webhook', `${ofApp}/endpoints/${endpoint}/remove`],
  ['the playground', `${ofApp}/try`],
  ['the page that connects an assistant', '/settings/connected-apps/assistant'],
  ['the members', '/settings/members'],
  ['a search among the members', `/settings/members?${new URLSearchParams({ q: MARKUP })}`],
  ['a member', `/settings/members/${user.id}`],
  ['the confirmation before removing a member', `/settings/members/${user.id}/remove`],
  ['the form for an invitation', '/settings/members/invite'],
  ['the open invitations', '/settings/members/invitations'],
  ['an invitation', invitation],
  ['the audit log', '/settings/audit-log'],
  ['the audit log of the platform', '/platform/audit-log'],
  ['the apps of everyone', `/platform/apps?${new URLSearchParams({ q: MARKUP })}`],
  ['an app of anyone', `/platform/apps/${app.id}`],
  ['the confirmation before pausing an app', `/platform/apps/${app.id}/pause`],
  ['the businesses of the platform', `/platform/businesses?${new URLSearchParams({ q: MARKUP })}`],
  ['a business of the platform', `/platform/businesses/${business.id}`],
  ['the users of the platform', `/platform/users?${new URLSearchParams({ q: MARKUP })}`],
  ['a user of the platform', `/platform/users/${user.id}`],
  ['the confirmation before disabling a user', `/platform/users/${user.id}/disable`],
  ['the reference', `${server.api}/docs`],
  ['the page about an error', `${server.api}/docs/errors/invalid_grant`],
  ['the list of platform apps', PLATFORM],
  ['a platform app', `${PLATFORM}/${platformApp.id}`],
  ['a page that is not there', '/nowhere'],
  ['the consent screen', server.authorizeUrl({ client_id: app.id })],
];

for (const [what, path] of PAGES) {
  test(`${what} shows names as they are, and runs nothing that is in them [S17]`, async () => {
    const { status, text } = await browser.open(path);

    assert.equal(status, path === '/nowhere' ? 404 : 200);
    assertEscaped(text);
  });
}

test('connected apps show the names of app and business as they are [S17]', async () => {
  const code = await server.allow({ client_id: app.id }, browser);
  await server.exchange(code, { client_id: app.id, client_secret: app.secret });

  const { text } = await browser.open('/settings/connected-apps');

  assert.equal(text.split(`aria-label="Disconnect ${SAFE} from ${SAFE}"`).length, 2);
  assertEscaped(text);
});

test('a rejected sign-in shows the email as text [S17]', async () => {
  const visitor = server.browse();

  const page = await visitor.signIn(MARKUP, `${MARKUP} as a password`);

  assert.equal(page.status, 401);
  assert.ok(page.text.includes(`value="${SAFE}"`));
  assertEscaped(page.text);
});

test('a rejected registration shows every field as text [S17]', async () => {
  const page = await registerInBrowser(browser, DEVELOPER, {
    name: MARKUP,
    redirect_uris: `</textarea>${MARKUP}`,
    scope: [MARKUP],
    audience: MARKUP,
  });

  assert.equal(page.status, 400);
  assert.ok(page.text.includes(`&lt;/textarea&gt;${SAFE}`));
  assertEscaped(page.text);
});

const ERROR_PAGES: [what: string, changes: Record<string, string>][] = [
  ['an unknown client_id', { client_id: MARKUP }],
  ['an unregistered redirect_uri', { client_id: app.id, redirect_uri: `https://x.example/${MARKUP}` }],
];

for (const [what, changes] of ERROR_PAGES) {
  test(`the page about ${what} shows what was sent as text [S17]`, async () => {
    const page = await browser.open(server.authorizeUrl({ redirect_uri: REDIRECT_URI, ...changes }));

    assert.equal(page.status, 400);
    assertEscaped(page.text);
  });
}

test('the page for an unknown or malformed path does not repeat the path [S17]', async () => {
  for (const path of [
    '/<script>alert(1)</script>',
    '/%3Cscript%3Ealert(1)%3C/script%3E',
    '/%zz',
    '/docs/errors/%3Cb%3E',
  ]) {
    const { status, text } = await browser.open(path);
    assert.ok(status === 404 || status === 400, `${path} ${status}`);
    assert.doesNotMatch(text, /script|<b>|%zz/);
  }
});
