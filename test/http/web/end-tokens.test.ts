import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR } from '../../../src/lib/clock.ts';
import { createClient } from '../../support/client.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const root = await server.addUser('Root', [], true);

async function connectedApp(name: string) {
  const app = await server.addApp({ name, ownerBusinessId: server.acme.id });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const browser = await server.signedIn();
  return { app, client, browser, tokens: await client.connect({}, browser) };
}

const SECTIONS = [
  { who: 'a developer', pathOf: (id: string) => `${DEVELOPER}/${id}`, signedIn: () => server.signedIn() },
  { who: 'a platform admin', pathOf: (id: string) => `/platform/apps/${id}`, signedIn: () => server.signedIn(root) },
];

async function eventsOf(appId: string) {
  const events = server.storage().durable.selectFrom('events').select('data').where('app_id', '=', appId);
  const rows = await events.where('type', '=', 'grant.revoked').execute();
  return rows.map(({ data }) => JSON.parse(data).reason);
}

for (const { who, pathOf, signedIn } of SECTIONS) {
  test(`${who} ends every token and code of an app after a question, and users allow it again without one`, async () => {
    const { app, client, browser, tokens } = await connectedApp(`Leak of ${who}`);
    const other = await connectedApp('Bystander');
    const code = await client.allow({}, browser);
    const path = `${pathOf(app.id)}/end-tokens`;
    const visitor = await signedIn();

    const question = await visitor.open(path);
    const done = await visitor.submit(question, path);

    assert.match(question.text, /1 business, 1 user/);
    assert.match(done.text, /Every token and code that the app had is ended\./);
    assert.equal((await client.listInvoices(tokens.access_token)).body.reason, 'app_tokens_ended');
    assert.equal((await client.refresh(tokens.refresh_token)).body.reason, 'app_tokens_ended');
    assert.equal((await client.exchange(code)).body.reason, 'app_tokens_ended');
    assert.equal((await other.client.listInvoices(other.tokens.access_token)).status, 200);
    const again = await client.authorize({}, browser);
    assert.ok(again.leftTo?.searchParams.get('code'), 'without a consent screen');
    await server.finishFollowUps();
    assert.deepEqual(await eventsOf(app.id), ['app_tokens_ended', 'app_tokens_ended']);
  });

  test(`${who} who signed in an hour ago signs in again before the question, and before the answer`, async () => {
    const { app, client, tokens } = await connectedApp(`Unattended of ${who}`);
    const path = `${pathOf(app.id)}/end-tokens`;
    const visitor = await signedIn();
    const question = await visitor.open(path);
    server.advanceClock(HOUR);

    const answered = await visitor.submit(question, path);
    const opened = await visitor.open(path);

    for (const { url } of [answered, opened]) {
      const address = new URL(url);
      assert.equal(address.pathname, '/sign-in');
      assert.equal(address.searchParams.get('return_to'), path);
      assert.equal(address.searchParams.get('done'), 'sign_in_again');
    }
    assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
  });
}

test('the audit log says how many connections had tokens', async () => {
  const { app } = await connectedApp('Counted');
  const path = `${DEVELOPER}/${app.id}/end-tokens`;
  const browser = await server.signedIn();

  await browser.submit(await browser.open(path), path);

  const entries = server.storage().durable.selectFrom('audit_entries').selectAll().where('subject_id', '=', app.id);
  const entry = await entries.where('action', '=', 'app.tokens_ended').executeTakeFirstOrThrow();
  assert.equal(entry.business_id, server.acme.id);
  assert.deepEqual(JSON.parse(entry.detail), { connections: '1' });
});
