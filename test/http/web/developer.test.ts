import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APP_FIELDS, registerInBrowser, shownCredentials } from '../../support/app-pages.ts';
import { nextPageLink } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { REDIRECT_URI } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const browser = await server.signedIn();

test('the list names each app of the business with its client_id, and no other app', async () => {
  const bolt = await server.addBusiness('Bolt');
  const foreign = await server.addApp({ name: 'Foreign', ownerBusinessId: bolt.id });
  const platform = await server.addApp({ name: 'Console' });

  const { text } = await browser.open(DEVELOPER);

  assert.match(text, new RegExp(`href="${server.acmePath('developer')}/${server.ledger.id}">Ledger<`));
  assert.ok(text.includes(`<code>${server.ledger.id}</code>`));
  for (const other of [foreign, platform]) assert.ok(!text.includes(other.id));
});

test('the list says how many connections each app has, when it was last used, and where the reference is', async () => {
  const app = await server.addApp({ name: 'Counted', ownerBusinessId: server.acme.id });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const before = await browser.open(`${DEVELOPER}?q=Counted`);
  await client.connect({}, browser);

  const after = await browser.open(`${DEVELOPER}?q=Counted`);

  assert.match(before.text, /0 connections<\/span><span>never used</);
  assert.match(after.text, /1 connection<\/span><span>last used <time datetime="2030-01-01/);
  assert.ok(after.text.includes(`<a href="${server.api}/docs">`));
});

test('a public app is registered without a secret, its page offers none, and it keeps PKCE', async () => {
  const page = await registerInBrowser(browser, DEVELOPER, { name: 'Desk', is_public: 'yes' });
  const [, id = ''] = /id="client-id">([^<]+)</.exec(page.text) ?? [];
  const settings = await browser.open(`${DEVELOPER}/${id}`);
  const saved = await browser.submit(settings, `${DEVELOPER}/${id}`, { ...APP_FIELDS, name: 'Desk 2' });
  const added = await browser.post(`${DEVELOPER}/${id}/secrets`, { csrf: await browser.csrf() });

  assert.doesNotMatch(page.text, /gcs_|client_secret|Try it/);
  assert.match(settings.text, /<span class="badge">Public<\/span>/);
  assert.match(settings.text, /This is a public app: it has no secret/);
  assert.doesNotMatch(settings.text, /Add a second secret|requires_pkce|Try it/);
  assert.equal(saved.status, 200);
  assert.equal(added.status, 400);
  assert.match(added.text, /A public app has no secret\./);
  const row = await server.storage().durable.selectFrom('apps').selectAll().where('id', '=', id).executeTakeFirst();
  assert.deepEqual([row?.name, row?.is_public, row?.requires_pkce], ['Desk 2', 1, 1]);
});

test('after an app is registered, the page leads to the guide and to Try it', async () => {
  const page = await registerInBrowser(browser, DEVELOPER);
  const { id } = shownCredentials(page);

  assert.ok(page.text.includes(`<a href="${server.api}/docs/guides/connect-your-app">Connect your app</a>`));
  assert.ok(page.text.includes(`<a href="${DEVELOPER}/${id}/try">Try it</a>`));
  assert.equal((await browser.open(`${DEVELOPER}/${id}/try`)).status, 200);
  assert.equal((await browser.open(`${server.api}/docs/guides/connect-your-app`)).status, 200);
});

test('more than fifty apps come in pages, each once, and can be searched by name or client_id', async () => {
  const many = await server.addBusiness('Many');
  const owner = await server.signedIn(await server.addUser('Mia', [[many, 'owner']]));
  const ids: string[] = [];
  for (let index = 0; index < 51; index++) {
    ids.push((await server.addApp({ name: `App ${index}.`, ownerBusinessId: many.id })).id);
  }
  const listed = ({ text }: { text: string }) =>
    [...text.matchAll(/<p class="muted small"><code>([0-9a-f-]{36})<\/code>/g)].map(([, id = '']) => id);

  const first = await owner.open('/settings/developer');
  const next = nextPageLink(first) ?? '';
  const second = await owner.open(next);

  assert.deepEqual([...listed(first), ...listed(second)].sort(), ids.toSorted());
  assert.equal(listed(first).length, 50);
  assert.ok(first.text.length < 50_000, String(first.text.length));
  assert.deepEqual(listed(await owner.open(`/settings/developer?q=app%2017.`)), [ids[17]]);
  assert.deepEqual(listed(await owner.open(`/settings/developer?q=${ids[3]}`)), [ids[3]]);
  assert.match((await owner.open(`/settings/developer?q=${server.ledger.id}`)).text, /No app found for/);
  assert.doesNotMatch((await browser.open(`/settings/developer?after=x`)).text, /role="search"/);
});

test('a business without apps sees what to do first', async () => {
  const dry = await server.addBusiness('Dry');
  const dan = await server.addUser('Dan', [[dry, 'owner']]);

  const { text } = await (await server.signedIn(dan)).open('/settings/developer');

  assert.match(text, /No apps yet\. Register one/);
  assert.match(text, /New app/);
});

test('registering an app shows a client_id and a client_secret that work', async () => {
  const page = await registerInBrowser(browser, DEVELOPER);
  const { id, secret } = shownCredentials(page);
  const app = { ...server.ledger, id, secret };
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });

  const tokens = await client.connect();

  assert.equal(tokens.scope, 'read:invoices');
  assert.equal((await client.listInvoices(tokens.access_token)).status, 200);
});

test('a secret is shown once and never again [D4]', async () => {
  const page = await registerInBrowser(browser, DEVELOPER, { name: 'Once' });
  const { id, secret } = shownCredentials(page);

  for (const path of [DEVELOPER, `${DEVELOPER}/${id}`, `${DEVELOPER}/${id}/delete`]) {
    const { text } = await browser.open(path);
    assert.ok(!text.includes(secret) && !text.includes(secret.slice(4, -4)), path);
  }
  assert.match((await browser.open(`${DEVELOPER}/${id}`)).text, new RegExp(`gcs_…${secret.slice(-4)}<`));
  assert.equal(page.headers.get('cache-control'), 'no-store');
});

test('every wrong redirect URI is named at its row, and the others are kept', async () => {
  const typed = [REDIRECT_URI, 'http://plain.example/', '', 'https://fine.example/', 'nope'];

  const { status, text } = await registerInBrowser(browser, DEVELOPER, { redirect_uris: typed });

  assert.equal(status, 400);
  const problems = [...text.matchAll(/id="redirect_uris-(\d+)-problem">([^<]*)</g)].map(([, row]) => row);
  assert.deepEqual(problems, ['2', '5']);
  const values = [...text.matchAll(/name="redirect_uris"[^>]* value="([^"]*)"/g)].map(([, value]) => value);
  assert.deepEqual(values, [...typed, '', '']);
});

test('the form has empty rows for more redirect URIs, up to the number that an app may have', async () => {
  const many = Array.from({ length: 19 }, (_, i) => `https://ledger.example/${i}`);
  const app = await server.addApp({ ownerBusinessId: server.acme.id, redirectUris: many });
  const rowsOf = (text: string) => text.match(/name="redirect_uris"/g)?.length;

  assert.equal(rowsOf((await browser.open(`${DEVELOPER}/new`)).text), 3);
  assert.equal(rowsOf((await browser.open(`${DEVELOPER}/${app.id}`)).text), 20);
});

test('scopes are a grid of resources, with reading and writing side by side', async () => {
  const { text } = await browser.open(`${DEVELOPER}/new`);
  const rows = [...text.matchAll(/<tr><td data-label="Resource"><strong>(\w+)<\/strong><\/td>(.*?)<\/tr>/gs)];
  const grid = rows.map(([, resource, cells = '']) => [
    resource,
    ...[...cells.matchAll(/data-label="(Read|Write)">.*?value="([^"]*)"/gs)].map(
      ([, kind, scope]) => `${kind} ${scope}`,
    ),
  ]);

  assert.deepEqual(grid.slice(0, 1), [['Invoices', 'Read read:invoices', 'Write write:invoices']]);
  assert.deepEqual(grid.at(-1), ['Orders', 'Read read:orders']);
  assert.equal(grid.length, 7);
});

test('after a registration there is a .env file to copy, the guide, the playground and the identity', async () => {
  const page = await registerInBrowser(browser, DEVELOPER, { name: 'Fresh' });
  const { id, secret } = shownCredentials(page);
  const [, env] = /<code id="env">([^<]*)</.exec(page.text) ?? [];

  assert.deepEqual(env?.split('\n'), [
    `BASE_URL=${server.api}`,
    `CLIENT_ID=${id}`,
    `CLIENT_SECRET=${secret}`,
    `REDIRECT_URI=${REDIRECT_URI}`,
  ]);
  for (const link of ['/docs/guides/connect-your-app"', `/${id}/try"`, `/${id}/identity"`]) {
    assert.ok(page.text.includes(link), link);
  }
});

const PROBLEMS: [what: string, changes: Record<string, string | string[]>, field: string, sentence: RegExp][] = [
  ['no name', { name: ' ' }, 'name', /Enter a name\./],
  ['a name of over 80 characters', { name: 'x'.repeat(81) }, 'name', /at most 80 characters/],
  ['invisible characters in the name', { name: 'Led\u202eger' }, 'name', /visible characters only/],
  ['no redirect URI', { redirect_uris: '\r\n  \r\n' }, 'redirect_uris', /at least one redirect URI/],
  ['plain http', { redirect_uris: 'http://ledger.example/' }, 'redirect_uris-1', /Use https, or http on localhost/],
  ['one bad URI of two', { redirect_uris: [REDIRECT_URI, 'ftp://x/'] }, 'redirect_uris-2', /^Use https/],
  [
    'a bad URI after an empty row',
    { redirect_uris: [REDIRECT_URI, '', 'nope'] },
    'redirect_uris-3',
    /not a complete URL/,
  ],
  ['a fragment', { redirect_uris: `${REDIRECT_URI}#x` }, 'redirect_uris-1', /no fragment/],
  ['a wildcard', { redirect_uris: 'https://*.example/' }, 'redirect_uris-1', /no wildcard/],
  ['a user name in the URI', { redirect_uris: 'https://a@b.example/' }, 'redirect_uris-1', /no user name/],
  ['a script for a URI', { redirect_uris: 'JavaScript:alert(1)' }, 'redirect_uris-1', /Use https/],
  ['no scope', { scope: [] }, 'scope', /at least one scope/],
  ['an unknown scope alone', { scope: ['read:everything'] }, 'scope', /at least one scope/],
];

for (const [what, changes, field, sentence] of PROBLEMS) {
  test(`a registration with ${what} says so beside the field, and keeps the input`, async () => {
    const typed = { ...APP_FIELDS, requires_pkce: 'yes', open_to_any_business: 'yes', ...changes };
    const count = async () => (await browser.open(DEVELOPER)).text.split('<li>').length;
    const before = await count();

    const page = await registerInBrowser(browser, DEVELOPER, typed);

    assert.equal(page.status, 400);
    const [, problem = ''] = new RegExp(`id="${field}-problem">([^<]*)<`).exec(page.text) ?? [];
    assert.match(problem, sentence);
    assert.match(page.text, new RegExp(`aria-describedby="[^"]*${field}-problem" aria-invalid="true"`));
    assert.ok(page.text.includes(`name="name" type="text" value="${typed.name}"`));
    for (const uri of [typed.redirect_uris].flat()) assert.ok(page.text.includes(`value="${uri.trim()}"`), uri);
    for (const scope of typed.scope.filter((name) => name !== 'read:everything')) {
      assert.match(page.text, new RegExp(`value="${scope}" checked`));
    }
    assert.match(page.text, /name="requires_pkce" value="yes" checked/);
    assert.match(page.text, /name="open_to_any_business" value="yes" checked/);
    assert.equal(await count(), before);
  });
}

test('a rejected form can be corrected and submitted again', async () => {
  const rejected = await registerInBrowser(browser, DEVELOPER, { name: '' });

  const page = await browser.submit(rejected, DEVELOPER, { ...APP_FIELDS, name: 'Mended' });

  assert.ok(shownCredentials(page).secret);
});

test('a form sent twice registers one app, and the second response leads to it without its secret', async () => {
  const form = await browser.open(`${DEVELOPER}/new`);
  const first = await browser.submit(form, DEVELOPER, { ...APP_FIELDS, name: 'Double' });
  const { id, secret } = shownCredentials(first);

  const second = await browser.submit(form, DEVELOPER, { ...APP_FIELDS, name: 'Double' });

  assert.equal(second.url, `${server.web}${DEVELOPER}/${id}`);
  assert.ok(!second.text.includes(secret));
  assert.equal((await browser.open(DEVELOPER)).text.split('>Double<').length, 2);
});

test('a form sent five times at once registers one app, and no response is an error', async () => {
  const form = await browser.open(`${DEVELOPER}/new`);

  const responses = await Promise.all(
    Array.from({ length: 5 }, () => browser.submit(form, DEVELOPER, { ...APP_FIELDS, name: 'Burst' })),
  );

  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  assert.equal(responses.filter(({ text }) => text.includes('client-secret')).length, 1);
  assert.equal((await browser.open(DEVELOPER)).text.split('>Burst<').length, 2);
});

test('a form sent again after its app was deleted neither brings the app back nor fails', async () => {
  const form = await browser.open(`${DEVELOPER}/new`);
  const { id } = shownCredentials(await browser.submit(form, DEVELOPER, { ...APP_FIELDS, name: 'Gone' }));
  await browser.submit(await browser.open(`${DEVELOPER}/${id}/delete`), `${DEVELOPER}/${id}/delete`);

  const again = await browser.submit(form, DEVELOPER, { ...APP_FIELDS, name: 'Gone' });

  assert.ok(again.status < 500, String(again.status));
  assert.ok(!(await browser.open(DEVELOPER)).text.includes('>Gone<'));
});

test('a registration without its form key, or with a forged one, registers nothing', async () => {
  const csrf = await browser.csrf();

  for (const form_key of ['', 'x', `${Buffer.from('{"id":"x"}').toString('base64url')}.x`]) {
    const { status } = await browser.post(DEVELOPER, { ...APP_FIELDS, name: 'Without a key', csrf, form_key });
    assert.equal(status, 404);
  }
  assert.ok(!(await browser.open(DEVELOPER)).text.includes('Ticketless'));
});
