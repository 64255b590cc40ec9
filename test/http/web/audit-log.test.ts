import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATOR, recordAudit } from '../../../src/audit/entries.ts';
import { newId } from '../../../src/lib/ids.ts';
import { DEVELOPER } from '../../support/app-pages.ts';
import { fetchAuditExport, parseAuditTable, readAuditEntries } from '../../support/audit-entries.ts';
import { type Browser, type Fields, nextPageLink } from '../../support/browser.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const LOG = '/settings/audit-log';
const PLATFORM_LOG = '/platform/audit-log';

/** Adds an endpoint to the app, and submits every form about it. */
async function workOnEndpoint(browser: Browser, list: string): Promise<void> {
  const typed = { url: 'https://hooks.example/T0KEN', events: 'invoice.paid' };
  await browser.submit(await browser.open(`${list}/new`), list, typed);
  const [, path = ''] = /<a href="([^"]*endpoints\/[\w-]{36})"/.exec((await browser.open(list)).text) ?? [];
  const submitAction = async (action: string, fields: Fields = {}) =>
    browser.submit(await browser.open(action === '/remove' ? `${path}/remove` : path), path + action, fields);
  await submitAction('', { ...typed, events: 'grant.created' });
  await submitAction('/disable');
  await submitAction('/enable');
  await submitAction('/secret');
  await submitAction('/remove');
}

/** An entry of Acme's log with the current time. */
async function addEntry(
  server: TestServer,
  name: string,
  action: 'app.registered' | 'member.added' = 'app.registered',
) {
  const subject = { kind: 'app', id: newId(server.clock()), name } as const;
  const entry = { action, actor: { ...OPERATOR, name: 'Olga', address: '203.0.113.9' }, businessId: server.acme.id };
  await recordAudit(server.storage().durable, { ...entry, subject, detail: { role: 'admin' } }, server.clock());
}

test('changes by users and apps are in the owner’s log, newest first, with who, when and from where', async () => {
  const server = await startTestServer();
  const browser = await server.signedIn();
  await workOnEndpoint(browser, `${DEVELOPER}/${server.ledger.id}/endpoints`);
  const { refresh_token } = await server.connect({}, browser);
  await Promise.all([server.revoke(refresh_token), server.revoke(refresh_token)]);

  const page = await browser.open(LOG);

  const entries = parseAuditTable(page);
  assert.deepEqual(
    entries.map(({ who, what, onWhat }) => [who, what, onWhat]),
    [
      ['Ledger app', 'The app ended its own access', 'Ledger'],
      ['Ada', 'Allowed the app', 'Ledger'],
      ['Ada', 'Removed a webhook endpoint', 'hooks.example'],
      ['Ada', 'Replaced the signing secret of a webhook endpoint', 'hooks.example'],
      ['Ada', 'Switched a webhook endpoint on', 'hooks.example'],
      ['Ada', 'Switched a webhook endpoint off', 'hooks.example'],
      ['Ada', 'Changed a webhook endpoint', 'hooks.example'],
      ['Ada', 'Added a webhook endpoint', 'hooks.example'],
    ],
  );
  assert.ok(entries.every(({ when, where }) => when === '2030-01-01 00:00:00 UTC' && where === '127.0.0.1'));
  assert.deepEqual([entries[0]?.more, entries[7]?.more], ['User: Ada', 'App: Ledger; events: invoice.paid']);
  assert.doesNotMatch(page.text, /T0KEN/);
});

test('an owner sees only the log of the current business', async () => {
  const server = await startTestServer();
  const bolt = await server.addBusiness('Bolt');
  const olivia = await server.signedIn(await server.addUser('Olivia', [[bolt, 'owner']]));
  await server.connect();

  const [theirs, own] = [await olivia.open(LOG), await (await server.signedIn()).open(LOG)];

  assert.match(theirs.text, /No entries in the last 90 days/);
  assert.deepEqual(await fetchAuditExport(olivia, `${LOG}.csv`), []);
  assert.deepEqual(
    parseAuditTable(own).map(({ what }) => what),
    ['Allowed the app'],
  );
});

test('for a member, an admin and a user without a business the audit log is 404, for every method [D5]', async () => {
  const server = await startTestServer();
  const others = [
    await server.addUser('Mel', [[server.acme, 'member']]),
    await server.addUser('Adam', [[server.acme, 'admin']]),
    await server.addUser('Nora'),
  ];
  const addresses = [LOG, `${LOG}.csv`, PLATFORM_LOG, `${PLATFORM_LOG}.csv`];

  for (const user of others) {
    const browser = await server.signedInByPassword(user);
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const address of addresses) {
        const { status } = await browser.fetch(address, { method });
        assert.equal(status, 404, `${user.name}: ${method} ${address}`);
      }
    }
    assert.doesNotMatch((await browser.open('/settings/account')).text, /audit-log/);
  }
  assert.match((await server.browse().open(LOG)).url, /\/sign-in\?/);
});

test('a user who loses the role loses the log at the very next request', async () => {
  const server = await startTestServer();
  const browser = await server.signedInByPassword();
  const before = await browser.open(`${LOG}.csv`);

  await server.storage().durable.updateTable('memberships').set({ role: 'admin' }).execute();

  assert.equal(before.status, 200);
  assert.equal((await browser.open(LOG)).status, 404);
  assert.equal((await browser.open(`${LOG}.csv`)).status, 404);
});

test('a platform admin sees everything, in every business and in none, and who acted in the platform’s name', async () => {
  const server = await startTestServer();
  const root = await server.signedInByPassword(await server.addUser('Root', [], true));
  await server.connect({}, await server.signedInByPassword());
  const pausing = `/platform/apps/${server.ledger.id}/pause`;
  await root.submit(await root.open(pausing), pausing);

  const all = parseAuditTable(await root.open(PLATFORM_LOG));
  const [newest] = parseAuditTable(await (await server.signedInByPassword()).open(LOG));

  assert.deepEqual(
    all.map(({ who, what, onWhat, business }) => [who, what, onWhat, business]),
    [
      ['Root platform', 'Paused the app everywhere', 'Ledger', 'Acme'],
      ['Ada', 'Allowed the app', 'Ledger', 'Acme'],
      ['Ada', 'Signed in', 'Unknown browser', '—'],
      ['Root', 'Signed in', 'Unknown browser', '—'],
    ],
  );
  assert.deepEqual([newest?.who, newest?.what], ['Gatehouse platform', 'Paused the app everywhere']);
});

test('two users with the same name are distinguished by their email, on the page and in the export', async () => {
  const server = await startTestServer();
  const [ada, mallory] = [server.ada, await server.addUser('Mallory', [[server.acme, 'owner']])];
  const owner = await server.signedIn();
  await server.connect({}, owner);
  await server.storage().durable.updateTable('users').set({ name: 'Ada' }).where('id', '=', mallory.id).execute();
  await server.connect({}, await server.signedIn(mallory));

  const shown = parseAuditTable(await owner.open(LOG));
  const exported = await fetchAuditExport(owner, `${LOG}.csv`);
  const found = parseAuditTable(await owner.open(`${LOG}?q=${encodeURIComponent(mallory.email)}`));

  assert.deepEqual(
    shown.map(({ who, email }) => [who, email]),
    [
      ['Ada', mallory.email],
      ['Ada', ada.email],
    ],
  );
  assert.deepEqual(
    exported.map(({ actor, actor_email }) => [actor, actor_email]),
    shown.map(({ who, email }) => [who, email]),
  );
  assert.deepEqual(
    found.map(({ email }) => email),
    [mallory.email],
  );
});

test('signing in and out is recorded once, and so is an attempt that fails', async () => {
  const server = await startTestServer();
  const browser = server.browse();
  await browser.signIn(server.ada.email, 'not the password');
  await browser.signIn(server.ada.email, 'correct horse battery');
  const page = await browser.open('/sign-out');
  await Promise.all([browser.submit(page, '/sign-out'), browser.submit(page, '/sign-out')]);

  const entries = await readAuditEntries(server);

  assert.deepEqual(
    entries.map((entry) => [entry.action, entry.actor_name, entry.address, entry.business_id]),
    [
      ['session.failed', 'Someone', '127.0.0.1', null],
      ['session.started', 'Ada', '127.0.0.1', null],
      ['session.ended', 'Ada', '127.0.0.1', null],
    ],
  );
  assert.equal(entries[1]?.subject_id, entries[2]?.subject_id);
});

test('a log is searched by name, address and id, and narrowed by kind and by person; invalid filters are ignored', async () => {
  const server = await startTestServer();
  const browser = await server.signedIn();
  await addEntry(server, 'Édouard & Söhne');
  await addEntry(server, '100%', 'member.added');
  await server.connect({}, browser);
  const found = async (query: string) =>
    parseAuditTable(await browser.open(`${LOG}?${query}`)).map(({ onWhat }) => onWhat);
  const [first] = await readAuditEntries(server);
  const [edouard] = (await readAuditEntries(server)).filter(({ subject_name }) => subject_name.startsWith('É'));

  assert.deepEqual(await found('q=édouard'), ['Édouard &amp; Söhne']);
  assert.deepEqual(await found('q=%25'), ['100%']);
  assert.deepEqual(await found('q=203.0.113'), ['100%', 'Édouard &amp; Söhne']);
  assert.deepEqual(await found(`q=${edouard?.subject_id}`), ['Édouard &amp; Söhne']);
  assert.deepEqual(await found('kind=member'), ['100%']);
  assert.deepEqual(await found('kind=member&q=ledger'), []);
  assert.deepEqual(await found(`by=${server.ada.id}`), ['Ledger']);
  assert.deepEqual(await found('kind=key'), ['Ledger', '100%', 'Édouard &amp; Söhne'], 'not a kind of this log');
  for (const nonsense of [
    'kind=x',
    'kind=app&kind=member',
    'by=1',
    `by=${first?.id}'`,
    'after=1',
    'q=%00',
    'kind=__proto__',
  ]) {
    assert.equal((await found(nonsense)).length, 3, nonsense);
  }
  assert.match((await browser.open(`${LOG}?q=nobody`)).text, /Show all.*Nothing matches in the last 90 days\./s);
});

test('a log of 10,000 entries is shown 50 at a time, each once and none twice, in pages under 50 kB', async () => {
  const server = await startTestServer();
  const browser = await server.signedIn();
  await addEntry(server, 'Needle', 'member.added');
  const [row] = await readAuditEntries(server);
  assert.ok(row);
  for (let batch = 0; batch < 20; batch++) {
    const rows = Array.from({ length: 500 }, () => ({ ...row, id: newId(server.clock()), subject_name: 'Hay' }));
    await server.storage().durable.insertInto('audit_entries').values(rows).execute();
  }

  const first = await browser.open(LOG);
  const next = nextPageLink(first) ?? '';
  const second = await browser.open(next);
  const needle = parseAuditTable(await browser.open(nextPageLink(await browser.open(`${LOG}?q=needle`)) ?? ''));
  const exported = await fetchAuditExport(browser, `${LOG}.csv`);
  const rest = await fetchAuditExport(browser, `${LOG}.csv?after=${exported.at(-3)?.id}`);

  assert.ok(Buffer.byteLength(first.text) < 50_000, `${Buffer.byteLength(first.text)}`);
  assert.deepEqual([parseAuditTable(first).length, parseAuditTable(second).length, needle.length], [50, 50, 1]);
  assert.equal(exported.length, 10_001);
  assert.equal(new Set(exported.map(({ id }) => id)).size, 10_001);
  assert.deepEqual(
    exported
      .map(({ id }) => id)
      .sort()
      .reverse(),
    exported.map(({ id }) => id),
  );
  assert.deepEqual(rest, exported.slice(-2));
});

test('an export is a file of plain text, with times in UTC, and runs nothing in a spreadsheet', async () => {
  const server = await startTestServer();
  const browser = await server.signedInByPassword();
  await addEntry(server, '=cmd|"/c calc"!A1');
  await addEntry(server, 'Other', 'member.added');

  const response = await browser.fetch(`${LOG}.csv?kind=app`);
  const [entry, ...more] = await fetchAuditExport(browser, `${LOG}.csv?kind=app`);

  assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8');
  assert.equal(response.headers.get('content-disposition'), 'attachment; filename="audit-log-2030-01-01.csv"');
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(response.headers.get('cross-origin-resource-policy'), 'same-origin');
  assert.equal(entry?.subject, `'=cmd|"/c calc"!A1`);
  assert.equal(entry?.time, '2030-01-01T00:00:00.000Z');
  assert.deepEqual(
    [entry?.action, entry?.what, entry?.actor_kind, entry?.actor, entry?.address, entry?.business, entry?.detail],
    ['app.registered', 'Registered the app', 'operator', 'Olga', '203.0.113.9', 'Acme', 'Role: admin'],
  );
  assert.deepEqual(more, []);
});

test('names of users and apps are text in the log, never markup [S17]', async () => {
  const server = await startTestServer();
  const browser = await server.signedInByPassword();
  await addEntry(server, '<script>alert(1)</script>');

  const page = await browser.open(`${LOG}?q=${encodeURIComponent('"><script>')}`);
  const all = await browser.open(LOG);

  for (const { text } of [page, all]) assert.doesNotMatch(text, /<script>/);
  assert.match(all.text, /&lt;script&gt;alert\(1\)/);
});

test('the details of an audit entry are shown in words', async () => {
  const server = await startTestServer();
  const browser = await server.signedInByPassword();
  await server.allow({}, browser);
  await browser.open(server.authorizeUrl());
  const invite = '/settings/members/invite';
  await browser.submit(await browser.open(invite), invite, { role: 'member', email: 'kim@example.com' });
  const root = await server.signedInByPassword(await server.addUser('Root', [], true));

  const entries = parseAuditTable(await root.open(PLATFORM_LOG));

  assert.deepEqual(
    entries.map(({ what, more, onWhat }) => [what, more, onWhat]),
    [
      ['Signed in', 'With a password', 'Unknown browser'],
      ['Invited someone', 'Role: member', 'kim@example.com'],
      ['Allowed the app', 'Scopes: read:invoices; without asking', 'Ledger'],
      ['Allowed the app', 'Scopes: read:invoices', 'Ledger'],
      ['Signed in', 'With a password', 'Unknown browser'],
    ],
  );
});
