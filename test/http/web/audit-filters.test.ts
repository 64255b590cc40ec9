import assert from 'node:assert/strict';
import { test } from 'node:test';
import { userActor } from '../../../src/accounts/users.ts';
import { recordAudit } from '../../../src/audit/entries.ts';
import { DAY } from '../../../src/lib/clock.ts';
import { fetchAuditExport, parseAuditTable } from '../../support/audit-entries.ts';
import { nextPageLink } from '../../support/browser.ts';
import { createCommandRunner } from '../../support/command-runner.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const LOG = server.acmePath('audit-log');
const bolt = await server.addBusiness('Bolt');
const mia = await server.addUser('Mia', [
  [server.acme, 'member'],
  [bolt, 'member'],
]);

async function addEntry(name: string, user = server.ada, businessId = server.acme.id): Promise<void> {
  const subject = { kind: 'app', id: server.ledger.id, name } as const;
  const entry = { action: 'app.changed', actor: userActor(user, '127.0.0.1'), businessId, subject } as const;
  await recordAudit(server.storage().durable, entry, server.clock());
}

// Entries on 1, 2 and 3 January 2030; Mia's is on the second.
await addEntry('First');
server.advanceClock(DAY);
await addEntry('Second', mia);
await addEntry('Elsewhere', mia, bolt.id);
server.advanceClock(DAY - 1);
await addEntry('Last of the second');
server.advanceClock(1);
await addEntry('Third');
const browser = await server.signedIn();
const found = async (query: string) =>
  parseAuditTable(await browser.open(`${LOG}?${query}`)).map(({ onWhat }) => onWhat);
const exported = async (query: string) =>
  (await fetchAuditExport(browser, `${LOG}.csv?${query}`)).map(({ subject }) => subject);

const DAYS: [query: string, names: string[]][] = [
  ['from=2030-01-02', ['Third', 'Last of the second', 'Second']],
  ['to=2030-01-02', ['Last of the second', 'Second', 'First']],
  ['from=2030-01-02&to=2030-01-02', ['Last of the second', 'Second']],
  ['from=2030-01-03&to=2030-01-01', []],
  ['from=2030-01-02&period=7', ['Third', 'Last of the second', 'Second']],
  ['from=2030-02-31&to=x', ['Third', 'Last of the second', 'Second', 'First']],
];

for (const [query, names] of DAYS) {
  test(`the log and its export show the entries of the chosen days: ${query}`, async () => {
    assert.deepEqual([await found(query), await exported(query)], [names, names]);
  });
}

test('with a first or last day the period is Custom, and a last day before the first is rejected at its field', async () => {
  const usual = await browser.open(LOG);
  const custom = await browser.open(`${LOG}?from=2030-01-02&period=90`);
  const reversed = await browser.open(`${LOG}?from=2030-01-03&to=2030-01-01`);

  assert.match(usual.text, /<option value="90" selected>Last 90 days</);
  assert.doesNotMatch(usual.text, /Custom/);
  assert.match(custom.text, /<option value="custom" selected>Custom<.*<option value="90" >Last 90 days</s);
  assert.deepEqual([usual.status, custom.status, reversed.status], [200, 200, 400]);
  assert.match(reversed.text, /aria-invalid="true">.*id="to-problem">The last day is before the first\.</s);
  assert.doesNotMatch(reversed.text, /Nothing matches/);
});

test('a search without a match says once that nothing matches', async () => {
  const { text } = await browser.open(`${LOG}?q=nowhere`);

  assert.match(text, /Nothing matches in the last 90 days\./);
  assert.doesNotMatch(text, /This is the end/);
  assert.match(text, />Search further back</);
});

test('the log shows what one person did, by their email address or their id, in this business only', async () => {
  for (const by of [mia.email, mia.email.toUpperCase(), mia.id]) {
    assert.deepEqual(await found(`by=${encodeURIComponent(by)}`), ['Second'], by);
    assert.deepEqual(await exported(`by=${encodeURIComponent(by)}`), ['Second'], by);
  }
  assert.deepEqual(await found(`by=${encodeURIComponent(mia.email)}&from=2030-01-03`), []);
});

test('the address of a stranger and one without an account give the same page [S4]', async () => {
  const stranger = await server.addUser('Stan', [[bolt, 'owner']]);

  const pages = [];
  for (const email of [stranger.email, 'nobody@example.com']) {
    const { status, text } = await browser.open(`${LOG}?by=${encodeURIComponent(email)}`);
    pages.push([status, text.replaceAll(email, '').replaceAll(encodeURIComponent(email), '')]);
  }

  assert.deepEqual(pages[0], pages[1]);
});

test('the next page and the export keep every filter', async () => {
  for (let i = 0; i < 60; i++) await addEntry(`Hay ${i}`, mia);
  const query = `q=hay&kind=app&by=${encodeURIComponent(mia.email)}&from=2030-01-03&to=2030-01-03`;

  const first = await browser.open(`${LOG}?${query}`);
  const next = nextPageLink(first) ?? '';
  const second = await browser.open(next);

  const kept = new URL(next, server.web).searchParams;
  kept.delete('after');
  assert.deepEqual(Object.fromEntries(kept), Object.fromEntries(new URLSearchParams(query)));
  assert.deepEqual([parseAuditTable(first).length, parseAuditTable(second).length], [50, 10]);
  assert.equal((await exported(query)).length, 60);
  assert.match(first.text, /name="from" type="date" value="2030-01-03"/);
});

test('the command filters by day and person, and rejects what is neither', async () => {
  const operator = createCommandRunner(server);
  const listed = async (options: Record<string, string>) => {
    const { entries } = (await operator('audit export', { ...options, json: '' })) as {
      entries: { subject: { name: string } }[];
    };
    return entries.map(({ subject }) => subject.name);
  };

  assert.deepEqual(await listed({ person: mia.email, to: '2030-01-02' }), ['Elsewhere', 'Second']);
  assert.deepEqual(await listed({ business: server.acme.id, from: '2030-01-01', to: '2030-01-01' }), ['First']);
  for (const options of [{ from: 'yesterday' }, { to: '2030-13-01' }, { person: 'nobody@example.com' }]) {
    await assert.rejects(listed(options as unknown as Record<string, string>));
  }
});
