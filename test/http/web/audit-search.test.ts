import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATOR, recordAudit } from '../../../src/audit/entries.ts';
import { DAY } from '../../../src/lib/clock.ts';
import { newId } from '../../../src/lib/ids.ts';
import { fetchAuditExport, parseAuditTable, readAuditEntries } from '../../support/audit-entries.ts';
import { nextPageLink, unescaped } from '../../support/browser.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const LOG = '/settings/audit-log';

async function addEntry(server: TestServer, name: string): Promise<void> {
  const subject = { kind: 'app', id: newId(server.clock()), name } as const;
  const entry = { action: 'app.registered', actor: OPERATOR, businessId: server.acme.id, subject } as const;
  await recordAudit(server.storage().durable, entry, server.clock());
}

/** Entries of the same log, newer than all others. */
async function addHay(server: TestServer, count: number): Promise<void> {
  await addEntry(server, 'Hay');
  const row = (await readAuditEntries(server)).at(-1);
  assert.ok(row);
  for (let added = 0; added < count; added += 1000) {
    const rows = Array.from({ length: 1000 }, () => ({ ...row, id: newId(server.clock()) }));
    await server.storage().durable.insertInto('audit_entries').values(rows).execute();
  }
}

const furtherBack = ({ text }: { text: string }) =>
  unescaped(/href="([^"]*)"[^>]*>Search further back/.exec(text)?.[1] ?? '');

test('a log shows and searches the last 90 days, says so, and can go further back', async () => {
  const server = await startTestServer();
  await addEntry(server, 'Ancient');
  server.advanceClock(200 * DAY);
  await addEntry(server, 'Older');
  server.advanceClock(91 * DAY);
  await addEntry(server, 'Recent');
  const browser = await server.signedIn();
  const names = async (address: string) => parseAuditTable(await browser.open(address)).map(({ onWhat }) => onWhat);

  const recent = await browser.open(LOG);
  const year = furtherBack(recent);
  const all = furtherBack(await browser.open(year));

  assert.match(recent.text, /<option value="90" selected>Last 90 days<\/option>/);
  assert.match(recent.text, /This is the end of the last 90 days\./);
  assert.deepEqual(await names(LOG), ['Recent']);
  assert.deepEqual(await names(year), ['Recent', 'Older', 'Ancient']);
  assert.equal(furtherBack(await browser.open(all)), '');
  assert.deepEqual(await names(`${LOG}?period=7&q=e`), ['Recent']);
  assert.deepEqual(await names(`${LOG}?q=older`), []);
  assert.match((await browser.open(`${LOG}?q=older`)).text, /Nothing matches in the last 90 days\./);
  assert.deepEqual(await names(`${LOG}?q=older&period=365`), ['Older']);
  assert.deepEqual(await names(`${LOG}?q=ancient&period=all`), ['Ancient']);
  for (const nonsense of ['period=0', 'period=91', 'period=', 'period=7&period=all', 'period=__proto__']) {
    assert.deepEqual(await names(`${LOG}?${nonsense}`), ['Recent'], nonsense);
  }
  const exported = async (query: string) => (await fetchAuditExport(browser, `${LOG}.csv${query}`)).length;
  assert.deepEqual([await exported(''), await exported('?period=365'), await exported('?period=all&q=an')], [1, 3, 1]);
});

test('one search reads a bounded part of a long log, and a link searches on from there until everything is read [X9]', async () => {
  const server = await startTestServer();
  await addEntry(server, 'Needle');
  await addHay(server, 25_000);
  const browser = await server.signedIn();

  const pages = [await browser.open(`${LOG}?q=needle`)];
  for (let page = pages[0]; page && nextPageLink(page); page = pages.at(-1))
    pages.push(await browser.open(nextPageLink(page) ?? ''));

  assert.deepEqual(
    pages.map((page) => parseAuditTable(page).map(({ onWhat }) => onWhat)),
    [[], [], ['Needle']],
  );
  assert.match(pages[0]?.text ?? '', /Nothing matches so far\..*covered only part of the log\./s);
  assert.doesNotMatch(pages[2]?.text ?? '', /only a part/);
  assert.equal((await fetchAuditExport(browser, `${LOG}.csv?q=needle`)).length, 1, 'a file is complete');
});

test('a search that finds more than a page pages on without losing or repeating an entry', async () => {
  const server = await startTestServer();
  await addHay(server, 1000);
  const browser = await server.signedIn();

  const ids = new Set((await fetchAuditExport(browser, `${LOG}.csv?q=hay`)).map(({ id }) => id));
  let shown = 0;
  for (let next: string | undefined = `${LOG}?q=hay`; next; ) {
    const page = await browser.open(next);
    shown += parseAuditTable(page).length;
    next = nextPageLink(page);
  }

  assert.deepEqual([ids.size, shown], [1001, 1001]);
});

test('an id finds what was done to it and by it, and a person what they did, in every business', async () => {
  const server = await startTestServer();
  const root = await server.signedIn(await server.addUser('Root', [], true));
  await server.connect({}, await server.signedInByPassword());
  const found = async (query: string) =>
    parseAuditTable(await root.open(`/platform/audit-log?${query}`)).map(({ what, onWhat }) => `${what}: ${onWhat}`);

  assert.deepEqual(await found(`q=${server.ledger.id}`), ['Allowed the app: Ledger']);
  assert.deepEqual(await found(`q=${server.ada.id}`), ['Allowed the app: Ledger', 'Signed in: Unknown browser']);
  assert.deepEqual(await found(`by=${server.ada.id}&kind=session`), ['Signed in: Unknown browser']);
});
