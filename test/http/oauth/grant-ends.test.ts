import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { LISTED_AFTER } from '../../../src/events/events.ts';
import { changeEndPolicy, type EndPolicy } from '../../../src/grants/connection-ends.ts';
import { endExpiredGrants } from '../../../src/grants/expiry.ts';
import { retentionSteps } from '../../../src/jobs.ts';
import { DAY, HOUR, MINUTE } from '../../../src/lib/clock.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const db = () => server.storage().durable;
const SCOPE = 'read:invoices';

interface Choice {
  ends?: string;
  scope?: string;
}

const newApp = () => server.addApp({ ownerBusinessId: server.acme.id });
const credentialsOf = (app: RegisteredApp) => ({ client_id: app.id, client_secret: app.secret });
/** Signs in again, since a session is shorter than a grant. */
const openSignedIn = async (path: string) => (await server.signedIn()).open(path);
const openScreen = (app: RegisteredApp, scope = SCOPE) =>
  openSignedIn(server.authorizeUrl({ client_id: app.id, scope }));

async function choose(app: RegisteredApp, { ends, scope }: Choice) {
  const browser = await server.signedIn();
  const screen = await browser.open(server.authorizeUrl({ client_id: app.id, scope: scope ?? SCOPE }));
  return browser.submit(screen, '/consent', { decision: 'allow', ...(ends !== undefined && { ends }) });
}

async function connect(app: RegisteredApp, choice: Choice) {
  const { leftTo, text } = await choose(app, choice);
  const code = leftTo?.searchParams.get('code');
  assert.ok(code, text);
  return (await server.exchange(code, credentialsOf(app))).body;
}

const refresh = (app: RegisteredApp, { refresh_token }: { refresh_token: string }) =>
  server.refresh(refresh_token, credentialsOf(app));
const endExpired = () => server.storage().transaction((tx) => endExpiredGrants(tx, 500, server.clock()));

async function eventsOf(app: RegisteredApp) {
  server.advanceClock(LISTED_AFTER);
  const authorization = `Basic ${Buffer.from(`${app.id}:${app.secret}`).toString('base64')}`;
  const { body } = await server.get('/api/v1/events', { authorization });
  return (body as { type: string; data: Record<string, string> }[]).filter(({ type }) => type.startsWith('grant.'));
}

async function setPolicy(ends: EndPolicy) {
  await changeEndPolicy(OPERATOR, db(), { ends, platformName: 'Test' }, server.clock());
}

test('the consent screen offers the ends, and the first is until the user disconnects the app', async () => {
  const { text } = await openScreen(await newApp());

  const select = /<select id="ends"[\s\S]*?<\/select>/.exec(text)?.[0] ?? '';
  const values = [...select.matchAll(/value="([^"]*)"/g)].map(([, value]) => value);
  assert.deepEqual(values, ['disconnect', '1', '7', '30', '90']);
});

test('by default a grant has no end', async () => {
  const app = await newApp();
  const tokens = await connect(app, {});

  const { body } = await server.introspect(tokens.access_token, credentialsOf(app));

  assert.equal(body.active, true);
  assert.equal('grant_expires_at' in body, false);
  assert.equal(tokens.expires_in, 3600);
});

test('introspection and the webhook contain the end, and the token response keeps its five fields', async () => {
  const app = await newApp();
  const end = server.clock() + 7 * DAY;
  const tokens = await connect(app, { ends: '7' });

  const access = await server.introspect(tokens.access_token, credentialsOf(app));
  const longLived = await server.introspect(tokens.refresh_token, credentialsOf(app));
  const [created] = await eventsOf(app);

  assert.deepEqual(Object.keys(tokens).sort(), ['access_token', 'expires_in', 'refresh_token', 'scope', 'token_type']);
  assert.equal(access.body.grant_expires_at, end / 1000);
  assert.equal(access.body.exp - access.body.iat, 3600);
  assert.equal(longLived.body.exp, end / 1000);
  assert.equal(created?.data.expiresAt, new Date(end).toISOString());
});

test('no access token outlives the grant, and expires_in says so', async () => {
  const app = await newApp();
  const tokens = await connect(app, { ends: '1' });
  server.advanceClock(DAY - 10 * MINUTE);

  const last = (await refresh(app, tokens)).body;
  const { body } = await server.introspect(last.access_token, credentialsOf(app));
  const before = await server.listInvoices(last.access_token);
  server.advanceClock(10 * MINUTE - 1);
  const atLast = await server.listInvoices(last.access_token);
  server.advanceClock(1);
  const after = await server.listInvoices(last.access_token);

  assert.equal(last.expires_in, 600);
  assert.equal(body.exp, body.grant_expires_at);
  assert.deepEqual([before.status, atLast.status, after.status], [200, 200, 401]);
  assert.equal(after.body.reason, 'grant_expired');
});

test('after the end every request gets the reason, and introspection says inactive', async () => {
  const app = await newApp();
  const tokens = await connect(app, { ends: '1' });
  server.advanceClock(DAY);

  const refreshed = await refresh(app, tokens);
  const called = await server.listInvoices(tokens.access_token);
  const { body } = await server.introspect(tokens.access_token, credentialsOf(app));

  assert.deepEqual(
    [refreshed.status, refreshed.body.error, refreshed.body.reason],
    [400, 'invalid_grant', 'grant_expired'],
  );
  assert.deepEqual([called.status, called.body.reason], [401, 'grant_expired']);
  assert.deepEqual(body, { active: false });
});

test('the end is one event with its reason, however often the job runs', async () => {
  const app = await newApp();
  const tokens = await connect(app, { ends: '1' });
  await endExpired();
  server.advanceClock(DAY);

  await Promise.all([endExpired(), endExpired()]);
  await endExpired();

  const reasons = (await eventsOf(app)).filter(({ type }) => type === 'grant.revoked').map(({ data }) => data.reason);
  assert.deepEqual(reasons, ['grant_expired']);
  assert.equal((await refresh(app, tokens)).body.reason, 'grant_expired');
});

test('a silent authorization keeps the end, after which the screen is shown again', async () => {
  const app = await newApp();
  await connect(app, { ends: '1' });
  server.advanceClock(HOUR);

  const code = await server.allow({ client_id: app.id });
  const again = (await server.exchange(code, credentialsOf(app))).body;
  const { body } = await server.introspect(again.access_token, credentialsOf(app));
  server.advanceClock(DAY - HOUR);
  const screen = await openScreen(app);
  const silent = await openSignedIn(server.authorizeUrl({ client_id: app.id, prompt: 'none' }));

  assert.equal(body.grant_expires_at, server.clock() / 1000);
  assert.equal(screen.status, 200);
  assert.equal(silent.leftTo?.searchParams.get('error'), 'consent_required');
  assert.equal((await server.listInvoices(again.access_token)).body.reason, 'grant_expired');
});

test('an expired consent is removed', async () => {
  const app = await newApp();
  await connect(app, { ends: '1' });
  server.advanceClock(DAY);

  await removeExpired(db(), retentionSteps(), server.clock());

  assert.equal((await db().selectFrom('consents').select('app_id').where('app_id', '=', app.id).execute()).length, 0);
});

test('a screen for more scopes starts with the earlier end, and keeps it unless the user chooses another', async () => {
  const app = await newApp();
  const end = server.clock() + 7 * DAY;
  await connect(app, { ends: '7' });
  server.advanceClock(DAY);

  const { text } = await openScreen(app, 'read:invoices read:contacts');
  const kept = await connect(app, { scope: 'read:invoices read:contacts' });
  const { body } = await server.introspect(kept.access_token, credentialsOf(app));

  assert.match(text, new RegExp(`<option value="keep-${end}"`));
  assert.equal(body.grant_expires_at, end / 1000);
});

test('a new choice can extend the connection, and leaves the end of earlier grants', async () => {
  const app = await newApp();
  const early = await connect(app, { ends: '1' });
  const late = await connect(app, { ends: 'disconnect', scope: 'read:invoices read:contacts' });
  server.advanceClock(DAY);

  const [first, second] = [await refresh(app, early), await refresh(app, late)];

  assert.equal(first.body.reason, 'grant_expired');
  assert.equal(second.status, 200);
});

test('a new choice brings forward the end of earlier grants', async () => {
  const app = await newApp();
  const early = await connect(app, { ends: 'disconnect' });
  await connect(app, { ends: '1', scope: 'read:invoices read:contacts' });
  server.advanceClock(DAY);

  assert.equal((await server.refresh(early.refresh_token, credentialsOf(app))).body.reason, 'grant_expired');
});

test('an end that was not offered is refused on the screen, and nothing is granted', async () => {
  const app = await newApp();
  for (const ends of ['365', 'keep-1', '-1', `keep-${server.clock() + DAY}`]) {
    const { status, leftTo, text } = await choose(app, { ends });

    assert.deepEqual([status, leftTo ?? null], [400, null], ends);
    assert.match(text, /Choose how long the app may have access/);
  }
  assert.equal((await db().selectFrom('grants').select('id').where('app_id', '=', app.id).execute()).length, 0);
});

test('the platform can set a maximum, which is then the default, and hide the choice', async () => {
  const app = await newApp();
  await setPolicy(30);
  const limited = await connect(app, {});
  const rejected = await choose(await newApp(), { ends: 'disconnect' });
  const { body } = await server.introspect(limited.access_token, credentialsOf(app));
  await setPolicy('none');
  const { text } = await openScreen(await newApp());
  await setPolicy('free');

  assert.equal(body.grant_expires_at, server.clock() / 1000 + (30 * DAY) / 1000);
  assert.equal(rejected.status, 400);
  assert.doesNotMatch(text, /<select id="ends"/);
});

test('connected apps, the developer and the audit log show the end', async () => {
  const app = await newApp();
  await connect(app, { ends: '90' });
  const day = new Date(server.clock() + 90 * DAY).toLocaleDateString('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

  const own = await openSignedIn(`/businesses/${server.acme.id}/connected-apps`);
  const developer = await openSignedIn(`/businesses/${server.acme.id}/developer/${app.id}/connections`);
  const [entry] = await db()
    .selectFrom('audit_entries')
    .select('detail')
    .where('action', '=', 'grant.allowed')
    .where('subject_id', '=', app.id)
    .execute();

  assert.match(own.text, new RegExp(`Until <time[^>]*>${day}`));
  assert.match(developer.text, new RegExp(day));
  assert.match(entry?.detail ?? '', /until/);
});
