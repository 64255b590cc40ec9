import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT_TYPES } from '../../../src/events/event-types.ts';
import { DAY, HOUR } from '../../../src/lib/clock.ts';
import { createKeyring, decrypt } from '../../../src/lib/keyring.ts';
import { insertEndpoint, markEndpointDisabled } from '../../../src/webhooks/endpoints.ts';
import { recordFailure } from '../../../src/webhooks/queue.ts';
import { PLATFORM } from '../../support/app-pages.ts';
import type { BrowserPage, Fields } from '../../support/browser.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const DEVELOPER = server.acmePath('developer');
const browser = await server.signedIn();
const keys = createKeyring(server.settings.secretKeys);
const db = () => server.storage().durable;
const CHOICES = EVENT_TYPES.filter((type) => type !== 'endpoint.test');
const URL_ = 'https://hooks.example/gatehouse';

async function newApp(section = DEVELOPER) {
  const app = await server.addApp({ ownerBusinessId: section === DEVELOPER ? server.acme.id : null });
  return { app, appPath: `${section}/${app.id}`, list: `${section}/${app.id}/endpoints` };
}

async function newEndpoint() {
  const { app, appPath, list } = await newApp();
  const addition = { appId: app.id, url: URL_, eventTypes: ['grant.created', 'grant.revoked'] };
  const { endpoint, secret } = await insertEndpoint(db(), keys, addition, server.clock());
  const path = `${list}/${endpoint.id}`;
  const submitAction = async (action: string, fields: Fields = {}) =>
    browser.submit(await browser.open(path), action ? `${path}/${action}` : path, fields);
  return { app, appPath, list, endpoint, secret, path, submitAction };
}

function shownSecret({ status, text }: BrowserPage): string {
  const [, secret = ''] = /id="signing-secret">(whsec_[^<]+)</.exec(text) ?? [];
  assert.ok(secret, `the page shows a signing secret, not ${status} ${text}`);
  return secret;
}

const ticked = (text: string) => [...text.matchAll(/name="events" value="([^"]*)" checked/g)].map(([, type]) => type);

test('an app’s page leads to its webhooks, which say what to do first if there is no endpoint', async () => {
  const { appPath, list } = await newApp();

  assert.ok((await browser.open(appPath)).text.includes(`href="${list}"`));
  assert.match((await browser.open(list)).text, /No endpoints yet<.*Add one/s);
});

test('the form for a new endpoint has every event ticked, and no test event to tick', async () => {
  const { list } = await newApp();

  const { text } = await browser.open(`${list}/new`);

  assert.deepEqual(ticked(text), CHOICES);
  assert.doesNotMatch(text, /endpoint\.test/);
});

for (const section of [DEVELOPER, PLATFORM]) {
  test(`an endpoint added below ${section} is listed with its events, and its secret is shown this once`, async () => {
    const admin = await server.signedIn(await server.addUser(`Root${section.length}`, [[server.acme, 'owner']], true));
    const { list, appPath } = await newApp(section);
    const typed = { url: URL_, events: ['grant.revoked', 'invoice.paid'] };

    const page = await admin.submit(await admin.open(`${list}/new`), list, typed);
    const secret = shownSecret(page);
    const { text } = await admin.open(list);
    const [, path = ''] = new RegExp(`href="(${list}/[\\w-]{36})">${URL_}<`).exec(text) ?? [];

    assert.equal(page.headers.get('cache-control'), 'no-store');
    assert.match(page.text, /<p class="notice caution"><strong>Copy the secret now\./);
    assert.match(text, /grant\.revoked, invoice\.paid</);
    assert.match(text, />On</);
    assert.deepEqual(ticked((await admin.open(path)).text), ['grant.revoked', 'invoice.paid']);
    for (const later of [appPath, list, path, `${path}/remove`]) {
      const shown = (await admin.open(later)).text;
      assert.ok(!shown.includes('whsec_') && !shown.includes(secret.slice(6)), later);
    }
  });
}

test('the audit log says that an endpoint receives all events, instead of listing them', async () => {
  const { list } = await newApp();

  await browser.submit(await browser.open(`${list}/new`), list, { url: 'https://all.example/', events: CHOICES });

  const { text } = await browser.open(server.acmePath('audit-log?q=all.example'));
  assert.match(text, /Added a webhook endpoint <p class="more small muted">App: Ledger; events: all</);
});

test('every page of an app has its own title', async () => {
  const { appPath, list, path } = await newEndpoint();
  const titleOf = async (page: string) => /<title>(.*?) · Gatehouse</.exec((await browser.open(page)).text)?.[1];

  assert.deepEqual(await Promise.all([DEVELOPER, `${DEVELOPER}/new`].map(titleOf)), ['Developer', 'New app']);
  assert.deepEqual(await Promise.all([appPath, `${appPath}/try`, `${appPath}/requests`, list, path].map(titleOf)), [
    'Settings · Ledger',
    'Try it · Ledger',
    'Requests · Ledger',
    'Webhooks · Ledger',
    'Webhook endpoint · Ledger',
  ]);
});

test('the form for an endpoint offers http on localhost only if the server sends there', async () => {
  const permissive = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' });
  const { list, path } = await newEndpoint();
  const elsewhere = `${permissive.acmePath('developer')}/${permissive.ledger.id}/endpoints/new`;

  for (const page of [`${list}/new`, path]) {
    const { text } = await browser.open(page);
    assert.match(text, /id="url-hint">It starts with https:\/\/\.</);
    assert.doesNotMatch(text, /localhost\./);
  }
  const { text } = await (await permissive.signedIn()).open(elsewhere);
  assert.match(text, /id="url-hint">https, or http on localhost\.</);
});

const PROBLEMS: [what: string, changes: Fields, field: string, sentence: RegExp][] = [
  ['no address', { url: ' ' }, 'url', /not a complete URL/],
  ['half an address', { url: 'hooks.example' }, 'url', /not a complete URL/],
  ['plain http', { url: 'http://hooks.example/' }, 'url', /must start with https/],
  ['a script for an address', { url: 'javascript:alert(1)' }, 'url', /must start with https/],
  ['a password in the address', { url: 'https://a:b@hooks.example/' }, 'url', /must not have a user name, password/],
  ['a fragment', { url: 'https://hooks.example/#x' }, 'url', /fragment/],
  ['an endless address', { url: `https://hooks.example/${'on-'.repeat(700)}` }, 'url', /not a complete URL/],
  ['this very machine', { url: 'http://localhost:3000/hook' }, 'url', /runs with WEBHOOKS_TO_LOOPBACK=yes/],
  ['no event', { events: [] }, 'events', /Choose from/],
  ['an unknown event', { events: ['grant.created', 'grant.exploded'] }, 'events', /Choose from/],
];

for (const [what, changes, field, sentence] of PROBLEMS) {
  test(`an endpoint with ${what} is rejected beside the field, new or changed, and keeps the input`, async () => {
    const { list, path } = await newEndpoint();
    const typed = { url: 'https://typed.example/', events: ['grant.created'], ...changes };
    const before = (await browser.open(list)).text;

    const added = await browser.submit(await browser.open(`${list}/new`), list, typed);
    const changed = await browser.submit(await browser.open(path), path, typed);

    for (const { status, text } of [added, changed]) {
      const [, problem = ''] = new RegExp(`id="${field}-problem">([^<]*)<`).exec(text) ?? [];
      assert.equal(status, 400);
      assert.match(problem, sentence);
      assert.ok(text.includes(`name="url" type="text" value="${typed.url}"`));
      assert.deepEqual(
        ticked(text),
        typed.events.filter((type) => type !== 'grant.exploded'),
      );
    }
    assert.equal((await browser.open(list)).text, before);
  });
}

test('a form for a new endpoint that is sent twice adds one, and the secret is shown to the first', async () => {
  const [{ list }, elsewhere] = [await newApp(), await newApp()];
  const form = await browser.open(`${list}/new`);
  const submit = () => browser.submit(form, list, { url: URL_, events: 'grant.created' });

  const both = await Promise.all([submit(), submit()]);
  const later = await submit();

  const [, path = ''] = new RegExp(`href="(${list}/[\\w-]{36})">${URL_}<`).exec((await browser.open(list)).text) ?? [];
  assert.equal((await browser.open(list)).text.split(URL_).length, 2);
  assert.deepEqual(both.map(({ text }) => /whsec_/.test(text)).sort(), [false, true]);
  assert.equal(later.url, server.web + path);
  assert.doesNotMatch(later.text, /whsec_/);
  const [, form_key = ''] = /name="form_key" value="([^"]+)"/.exec(form.text) ?? [];
  const typed = { url: URL_, events: 'grant.created', csrf: await browser.csrf() };
  assert.equal((await browser.post(elsewhere.list, { ...typed, form_key })).status, 409);
  assert.equal((await browser.post(elsewhere.list, typed)).status, 404);
  assert.match((await browser.open(elsewhere.list)).text, /No endpoints yet/);
});

test('an app has at most ten endpoints', async () => {
  const { app, list } = await newEndpoint();
  for (let i = 0; i < 9; i++) {
    await insertEndpoint(db(), keys, { appId: app.id, url: URL_, eventTypes: ['grant.created'] }, server.clock());
  }

  const page = await browser.submit(await browser.open(`${list}/new`), list, { url: URL_, events: 'grant.created' });

  assert.equal(page.status, 400);
  assert.match(page.text, /at most 10 endpoints/);
});

test('a change of an endpoint is shown at once', async () => {
  const { list, path, submitAction } = await newEndpoint();

  const page = await submitAction('', { url: 'https://moved.example/', events: 'invoice.paid' });

  assert.equal(page.url, `${server.web}${path}?done=saved`);
  assert.match(page.text, /<h2 class="title">https:\/\/moved\.example\//);
  assert.deepEqual(ticked(page.text), ['invoice.paid']);
  assert.match((await browser.open(list)).text, />https:\/\/moved\.example\/</);
});

test('an endpoint can be disabled and enabled, and shows its status', async () => {
  const { list, submitAction } = await newEndpoint();

  const off = await submitAction('disable');
  const listed = await browser.open(list);
  const on = await submitAction('enable');

  for (const { text } of [off, listed]) assert.match(text, />Off<.*Off since .*It was switched off here/s);
  assert.match(on.text, />On</);
  assert.doesNotMatch(on.text, /Off since/);
});

test('an endpoint that was disabled because of its response says why', async () => {
  const [gone, failing] = [await newEndpoint(), await newEndpoint()];
  await markEndpointDisabled(db(), gone.endpoint.id, 'gone', server.clock());
  await markEndpointDisabled(db(), failing.endpoint.id, 'failing', server.clock());

  assert.match((await browser.open(gone.list)).text, /It responded with 410/);
  assert.match((await browser.open(failing.path)).text, /No delivery succeeded for three days/);
});

test('an endpoint that has failed for a day shows a warning, until it is enabled again', async () => {
  const { list, path, endpoint, submitAction } = await newEndpoint();
  const [warning, visit] = [/No delivery has succeeded since .* switched off at /, () => browser.open(list)];
  await recordFailure(db(), endpoint, 0.5, server.clock() - DAY + HOUR);
  const early = await visit();
  server.advanceClock(HOUR);
  const late = [await visit(), await browser.open(path)];
  await submitAction('disable');
  await submitAction('enable');

  assert.doesNotMatch(early.text, warning);
  for (const { text } of late) assert.match(text, warning);
  assert.doesNotMatch((await visit()).text, warning);
});

test('a replaced secret is shown once, with the time until which both sign', async () => {
  const { endpoint, secret, path, submitAction } = await newEndpoint();

  const page = await submitAction('secret');
  const newer = shownSecret(page);
  const { text } = await browser.open(path);

  const until = new Date(server.clock() + DAY).toISOString();
  assert.notEqual(newer, secret);
  assert.ok(page.text.includes(`Also signs until <time datetime="${until}">`));
  assert.ok(text.includes(`Two secrets sign until <time datetime="${until}">`));
  assert.ok(!text.includes('whsec_') && !text.includes(newer.slice(6)));
  assert.deepEqual(await signingSecrets(endpoint.id), [newer, secret]);
});

test('the form that replaces a secret works once: sent again, it leads back and replaces nothing', async () => {
  const { endpoint, secret, path } = await newEndpoint();
  const form = await browser.open(path);
  const newer = shownSecret(await browser.submit(form, `${path}/secret`));

  const again = await browser.submit(form, `${path}/secret`);

  assert.equal(again.url, server.web + path);
  assert.doesNotMatch(again.text, /whsec_/);
  assert.deepEqual(await signingSecrets(endpoint.id), [newer, secret]);
});

test('two simultaneous clicks replace the secret once, and the previous secret still signs', async () => {
  const { endpoint, secret, path } = await newEndpoint();
  const form = await browser.open(path);

  const pages = await Promise.all([1, 2].map(() => browser.submit(form, `${path}/secret`)));

  const shown = pages.filter(({ text }) => text.includes('whsec_'));
  assert.equal(shown.length, 1);
  assert.deepEqual(await signingSecrets(endpoint.id), [shown.map(shownSecret)[0], secret]);
});

test('the page of an endpoint ends with a danger zone', async () => {
  const { path } = await newEndpoint();

  const { text } = await browser.open(path);
  const [, zone = ''] = text.split('<section class="card danger-zone">');

  assert.match(zone, /Switch off the endpoint.*Remove the endpoint/s);
  assert.doesNotMatch(zone, /<section/);
});

test('removing an endpoint asks for confirmation first', async () => {
  const { list, path } = await newEndpoint();

  const confirmation = await browser.open(`${path}/remove`);
  const kept = await browser.open(path);
  const after = await browser.submit(confirmation, `${path}/remove`);

  assert.match(confirmation.text, /Remove this endpoint\?/);
  assert.ok(confirmation.text.includes(URL_));
  assert.equal(kept.status, 200);
  assert.equal(after.url, `${server.web}${list}?done=endpoint_removed`);
  assert.match(after.text, /No endpoints yet/);
  assert.equal((await browser.open(path)).status, 404);
});

/** The stored signing secrets, newest first. */
async function signingSecrets(id: string) {
  const row = await db().selectFrom('endpoints').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  return [row.secret, row.old_secret].map((text) => decrypt(keys, 'endpoint secret', text ?? ''));
}
