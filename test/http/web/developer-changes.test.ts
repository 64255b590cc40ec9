import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removeSecret } from '../../../src/apps/secrets.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { APP_FIELDS, removableSecrets, shownCredentials } from '../../support/app-pages.ts';
import { createClient } from '../../support/client.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const browser = await server.signedIn();

async function newApp(name: string) {
  const app = await server.addApp({ name, ownerBusinessId: server.acme.id });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const path = `${DEVELOPER}/${app.id}`;
  const submitAction = async (action: string) => {
    const page = await browser.open(action === 'disable' ? `${path}/disable` : path);
    return browser.submit(page, `${path}/${action}`);
  };
  return { app, client, path, submitAction };
}

test('a change of an app is shown at once and applies to the next request', async () => {
  const { client, path } = await newApp('Before');
  const moved = 'https://moved.example/callback';

  const page = await browser.submit(await browser.open(path), path, {
    ...APP_FIELDS,
    name: 'After',
    redirect_uris: `${moved}\r\n${APP_FIELDS.redirect_uris}`,
    scope: 'read:contacts',
    requires_pkce: 'yes',
  });
  const withOldScope = await client.authorize({ scope: 'read:invoices' }, browser);
  const withoutPkce = await client.authorize({ scope: 'read:contacts', redirect_uri: moved }, browser);

  assert.equal(page.url, `${server.web}${path}?done=saved`);
  assert.match(page.text, /<h1>After/);
  assert.equal(withOldScope.leftTo?.searchParams.get('error'), 'invalid_scope');
  assert.equal(withoutPkce.leftTo?.origin, 'https://moved.example');
  assert.equal(withoutPkce.leftTo?.searchParams.get('error'), 'invalid_request');
});

test('a rejected change leaves the app unchanged, and keeps the input', async () => {
  const { path } = await newApp('Steady');

  const page = await browser.submit(await browser.open(path), path, {
    ...APP_FIELDS,
    name: 'Shaky',
    redirect_uris: 'nope',
  });

  assert.equal(page.status, 400);
  assert.match(page.text, /id="redirect_uris-1-problem">This is not a complete URL/);
  assert.match(page.text, /name="name" type="text" value="Shaky"/);
  assert.match((await browser.open(path)).text, /<h1>Steady/);
});

test('a disabled app stops at once, and works again once it is enabled', async () => {
  const { client, submitAction } = await newApp('Switch');
  const tokens = await client.connect({}, browser);

  const page = await submitAction('disable');
  const disabled = await client.listInvoices(tokens.access_token);
  const rejected = await client.refresh(tokens.refresh_token);
  const authorized = await client.authorize({}, browser);
  await submitAction('enable');

  assert.match(page.text, /class="badge warn">Disabled</);
  assert.equal(disabled.status, 401);
  assert.equal(rejected.body.error, 'invalid_grant');
  assert.match(rejected.body.error_description, /app_disabled/);
  assert.equal(authorized.status, 400);
  assert.equal((await client.listInvoices(tokens.access_token)).status, 200);
  assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
});

test('a deleted app is gone at once, with every token of it', async () => {
  const { client, path } = await newApp('Doomed');
  const tokens = await client.connect({}, browser);

  const confirmation = await browser.open(`${path}/delete`);
  const list = await browser.submit(confirmation, `${path}/delete`);

  assert.match(confirmation.text, /Delete Doomed\?/);
  assert.equal(list.url, `${server.web}${DEVELOPER}?done=app_deleted`);
  assert.ok(!list.text.includes('Doomed'));
  assert.equal((await browser.open(path)).status, 404);
  assert.equal((await client.listInvoices(tokens.access_token)).status, 401);
  assert.equal((await client.refresh(tokens.refresh_token)).status, 401);
  assert.equal((await client.authorize({}, browser)).status, 400);
});

test('opening the confirmation page deletes nothing [D1]', async () => {
  const { path } = await newApp('Kept');

  await browser.open(`${path}/delete`);

  assert.equal((await browser.open(path)).status, 200);
});

test('a second secret works beside the first, and each says when it was last used [D4]', async () => {
  const { app, client, path, submitAction } = await newApp('Pair');
  const first = await client.connect({}, browser);

  const { id, secret } = shownCredentials(await submitAction('secrets'));
  const withSecond = await client.refresh(first.refresh_token, { client_secret: secret });
  const withFirst = await client.refresh(withSecond.body.refresh_token);

  assert.equal(id, app.id);
  assert.notEqual(secret, app.secret);
  assert.equal(withSecond.status, 200);
  assert.equal(withFirst.status, 200);
  const { text } = await browser.open(path);
  assert.match(text, new RegExp(`gcs_…${app.secret.slice(-4)}</code>\\s*<p[^>]*>Added .*last used`));
  assert.match(text, new RegExp(`gcs_…${secret.slice(-4)}</code>\\s*<p[^>]*>Added .*last used`));
  assert.ok(!text.includes(secret));
});

test('removing a secret that is in use needs confirmation, and the page says when it was last used [D4]', async () => {
  const { app, client, path, submitAction } = await newApp('Careful');
  await client.refresh('grt_x');
  await submitAction('secrets');
  const page = await browser.open(path);
  const [older = '', newer = ''] = removableSecrets(page);

  const confirmation = await browser.submit(page, `${path}/secrets/${older}/remove`);
  const refreshed = await client.refresh('grt_x');
  const unused = await browser.submit(page, `${path}/secrets/${newer}/remove`);

  assert.match(confirmation.text, /Remove a secret of Careful\?/);
  assert.match(
    confirmation.text,
    new RegExp(`gcs_…${app.secret.slice(-4)}</code> was last used <time datetime="2030-01-01`),
  );
  assert.equal(refreshed.body.error, 'invalid_grant', 'the confirmation page changes nothing');
  assert.match(unused.text, /The secret is removed/);
  assert.match(page.text, /Older secret <code>/);
  assert.match(unused.text, /<div>Secret <code>/);
});

test('disabling and deleting need confirmation, and the page says who has connected the app', async () => {
  const { client, path } = await newApp('Confirmed');
  const { access_token } = await client.connect({}, browser);

  const disabling = await browser.open(`${path}/disable`);
  const deleting = await browser.open(`${path}/delete`);

  for (const { text } of [disabling, deleting]) assert.match(text, /connected by <strong>1 business, 1 user</);
  assert.equal((await client.listInvoices(access_token)).status, 200);
  assert.equal((await browser.submit(disabling, `${path}/disable`)).status, 200);
  assert.equal(new URL((await browser.open(`${path}/disable`)).url).pathname, path, 'nothing is left to confirm');
});

test('a removed secret is rejected from then on, and the other still works [D4]', async () => {
  const { app, client, path, submitAction } = await newApp('Rotated');
  const tokens = await client.connect({}, browser);
  const { secret } = shownCredentials(await submitAction('secrets'));
  const page = await browser.open(path);
  const [oldest = ''] = removableSecrets(page);

  const removal = `${path}/secrets/${oldest}/remove`;
  await browser.submit(await browser.submit(page, removal), removal);

  const withOld = await client.refresh(tokens.refresh_token, { client_secret: app.secret });
  const withNew = await client.refresh(tokens.refresh_token, { client_secret: secret });
  assert.equal(withOld.status, 401);
  assert.equal(withOld.body.error, 'invalid_client');
  assert.equal(withNew.status, 200);
});

test('an app has at most two secrets, even if several are requested at once [D4]', async () => {
  const { path, submitAction } = await newApp('Full');
  const csrf = await browser.csrf();

  const responses = await Promise.all(Array.from({ length: 4 }, () => browser.post(`${path}/secrets`, { csrf })));

  assert.deepEqual(responses.map(({ status }) => status).toSorted(), [200, 400, 400, 400]);
  const rejected = responses.find(({ status }) => status === 400);
  assert.match(rejected?.text ?? '', /at most two secrets\. Remove the old one first/);
  await assert.rejects(submitAction('secrets'), 'the page offers no third secret');
});

test('the last secret of an app cannot be removed [D4]', async () => {
  const { client, path } = await newApp('Last');
  const tokens = await client.connect({}, browser);
  const csrf = await browser.csrf();
  const row = await server.storage().durable.selectFrom('app_secrets').selectAll().orderBy('id', 'desc').execute();
  const last = row.find(({ app_id }) => path.endsWith(app_id))?.id ?? '';

  const { status, text } = await browser.post(`${path}/secrets/${last}/remove`, { csrf });

  assert.equal(status, 400);
  assert.match(text, /This is the only secret\. Add a new one first\./);
  assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
});

test('two secrets that are removed at once leave one [D4]', async () => {
  const { app, path, submitAction } = await newApp('Race');
  await submitAction('secrets');
  const both = removableSecrets(await browser.open(path));

  await Promise.allSettled(
    both.map((id) =>
      server.storage().transaction((db) => removeSecret(OPERATOR, db, { app, secretId: id }, server.clock())),
    ),
  );

  assert.equal(both.length, 2);
  assert.equal((await browser.open(path)).text.split('<code>gcs_…').length - 1, 1);
});
