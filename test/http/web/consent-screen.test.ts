import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY } from '../../../src/lib/clock.ts';
import { redirectParams } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
let users = 0;
const newMember = () => server.addUser(`Person${++users}`, [[server.acme, 'member']]);
const arrive = async () => server.signedIn(await newMember());
const listEntries = () => server.storage().durable.selectFrom('audit_entries').selectAll().orderBy('id').execute();

test('the screen says whose app it is, that the platform did not make it, and since when it exists', async () => {
  server.advanceClock(40 * DAY);
  const page = await (await arrive()).open(server.authorizeUrl());

  assert.match(
    page.text,
    /It was registered by a business called <bdi>“Acme”<\/bdi>\. It is not made or checked by <bdi>Gatehouse<\/bdi>\./,
  );
  assert.match(page.text, /<span class="badge warn">Publisher not verified<\/span>/);
  assert.match(page.text, /Registered on <time datetime="2030-01-01" data-precise="day">1 Jan 2030<\/time>/);
});

test('the first permission is the profile, which every app sees, also if all its scopes are optional', async () => {
  const browser = await arrive();
  const profile = /^Your profile<\/h3>.*Name and email address</s;
  const firstRow = ({ text }: { text: string }) => text.split('class="permissions"><div><h3>')[1] ?? '';

  assert.match(firstRow(await browser.open(server.authorizeUrl())), profile);
  const optional = { scope: undefined, optional_scope: 'read:contacts' };
  assert.match(firstRow(await browser.open(server.authorizeUrl(optional))), profile);
});

test('before the buttons the screen shows the permissions, the business, the account and the redirect host', async () => {
  const { text } = await (await arrive()).open(server.authorizeUrl());
  const parts = [
    'class="permissions"',
    'class="small muted small-print"',
    'class="facts"',
    'value="deny"',
    'value="allow"',
  ];
  const offsets = parts.map((part) => text.indexOf(part));

  assert.ok(!offsets.includes(-1), `${offsets}`);
  assert.deepEqual(
    offsets,
    offsets.toSorted((left, right) => left - right),
  );
});

test('the screen says what the app does not get, and how to undo it', async () => {
  const { text } = await (await arrive()).open(server.authorizeUrl());

  assert.match(text, /It never sees your password\. What you allow is for <bdi>Acme<\/bdi> only/);
  assert.match(text, /You can disconnect it at any time, under <a href="([^"]*)">/);
  assert.ok(text.includes(`<a href="${server.acmePath('connected-apps')}">`));
});

test('permissions are grouped by resource, required and optional apart, and sensitive ones are marked', async () => {
  const scope = 'write:invoices read:invoices read:employees';
  const app = await server.addApp({ ownerBusinessId: server.acme.id, scopes: [...scope.split(' '), 'read:contacts'] });
  const { text } = await (await arrive()).open(
    server.authorizeUrl({ client_id: app.id, scope, optional_scope: 'read:contacts' }),
  );
  const [, needed = '', chosen = ''] = /What it needs<(.*)What you can choose<(.*?)<\/fieldset>/s.exec(text) ?? [];
  const [, invoices = '', employees = ''] = needed.split('<h3>').slice(1);

  assert.match(invoices, /^Invoices<.*View and edit<.*View invoices.*Create, update and send invoices/s);
  assert.match(
    employees,
    /^Employees<\/h3>.*View employee records \(HR module\) <span class="badge caution">Sensitive</s,
  );
  assert.doesNotMatch(invoices, /Sensitive/);
  assert.doesNotMatch(needed, /CRM contacts|checkbox/);
  assert.match(chosen, /<h3>Contacts<.*<input type="checkbox" name="optional_scope" value="read:contacts" checked>/s);
});

test('a host name with look-alike letters is shown in punycode', async () => {
  const lookalike = 'https://xn--80ak6aa92e.com/callback';
  const app = await server.addApp({ name: 'Fruit', ownerBusinessId: server.acme.id, redirectUris: [lookalike] });

  const { text } = await (await arrive()).open(server.authorizeUrl({ client_id: app.id, redirect_uri: lookalike }));

  assert.match(text, /<strong>xn--80ak6aa92e\.com<\/strong>/);
});

test('the screen says when an app runs on the user’s own machine', async () => {
  const local = 'http://127.0.0.1:8080/callback';
  const app = await server.addApp({ name: 'Local', ownerBusinessId: server.acme.id, redirectUris: [local] });

  const { text } = await (await arrive()).open(server.authorizeUrl({ client_id: app.id, redirect_uri: local }));

  assert.match(text, /<strong>127\.0\.0\.1:8080<\/strong><br><span class="muted">A program on this device<\/span>/);
});

test('each Allow is in the audit log of the business: who, from where, which app, and what was granted', async () => {
  const member = await newMember();
  const browser = await server.signedIn(member);
  const page = await browser.open(server.authorizeUrl({ optional_scope: 'read:contacts write:invoices' }));
  const allow = () => browser.submit(page, '/consent', { decision: 'allow', optional_scope: 'read:contacts' });
  await Promise.all([allow(), allow()]);

  const entries = (await listEntries()).filter(
    ({ actor_id, action }) => actor_id === member.id && action === 'grant.allowed',
  );

  assert.equal(entries.length, 1, 'a double click leaves one entry');
  assert.deepEqual(
    entries.map(({ id, at, ...entry }) => entry),
    [
      {
        action: 'grant.allowed',
        actor_kind: 'user',
        actor_id: member.id,
        actor_name: member.name,
        actor_email: member.email,
        address: '127.0.0.1',
        business_id: server.acme.id,
        subject_kind: 'app',
        subject_id: server.ledger.id,
        subject_name: 'Ledger',
        person_id: member.id,
        detail: JSON.stringify({ scope: 'read:invoices read:contacts' }),
      },
    ],
  );
});

test('a silent authorization is in the log as such, once for each grant', async () => {
  const member = await newMember();
  const browser = await server.signedIn(member);
  await server.allow({}, browser);
  const platformApp = await server.addApp({ name: 'Console' });

  const silent = await browser.open(server.authorizeUrl());
  const ours = await browser.open(server.authorizeUrl({ client_id: platformApp.id, scope: 'read:contacts' }));

  assert.ok(redirectParams(silent.leftTo?.href).code);
  assert.ok(redirectParams(ours.leftTo?.href).code);
  const entries = (await listEntries()).filter(
    (entry) => entry.actor_id === member.id && entry.action === 'grant.allowed',
  );
  assert.deepEqual(
    entries.map(({ subject_name, business_id, address, detail }) => [subject_name, business_id, address, detail]),
    [
      ['Ledger', server.acme.id, '127.0.0.1', '{"scope":"read:invoices"}'],
      ['Ledger', server.acme.id, '127.0.0.1', '{"scope":"read:invoices","how":"without asking"}'],
      ['Console', server.acme.id, '127.0.0.1', '{"scope":"read:contacts","how":"without asking"}'],
    ],
  );
});

test('a silent authorization that fails leaves no audit entry', async () => {
  const browser = await arrive();
  const before = (await listEntries()).length;

  const rejected = await browser.open(server.authorizeUrl({ prompt: 'none' }));

  assert.equal(redirectParams(rejected.leftTo?.href).error, 'consent_required');
  assert.equal((await listEntries()).length, before);
});

test('the screen says when the redirect goes to the platform itself', async () => {
  const own = `${server.web}/settings/developer/try/callback`;
  const app = await server.addApp({ name: 'Own', ownerBusinessId: server.acme.id, redirectUris: [own] });

  const { text } = await (await arrive()).open(server.authorizeUrl({ client_id: app.id, redirect_uri: own }));

  assert.match(text, /<span class="muted">A page on this site<\/span>/);
  assert.doesNotMatch(text, /A program on this device/);
});
