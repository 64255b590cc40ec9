import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditCommands } from '../../../src/cli/audit.ts';
import { readOptions } from '../../../src/cli/command.ts';
import { fetchAuditExport, parseAuditTable } from '../../support/audit-entries.ts';
import { startTestServer } from '../../support/test-server.ts';

const LOG = '/settings/audit-log';

const server = await startTestServer({ PLATFORM_NAME: 'Example Cloud' });
const admin = await server.addUser('Rosalind', [], true);
const root = await server.signedIn(admin);
const pausing = `/platform/apps/${server.ledger.id}/pause`;
await root.submit(await root.open(pausing), pausing, { reason: 'Abuse' });
const owner = await server.signedIn();

test('a business sees what a platform admin did as done by the platform, without their name, email, address or id', async () => {
  const page = await owner.open(LOG);
  const csv = await (await owner.fetch(`${LOG}.csv`)).text();
  const [exported] = await fetchAuditExport(owner, `${LOG}.csv`);

  assert.deepEqual(
    parseAuditTable(page).map(({ who, email, what, more, where }) => [who, email, what, more, where]),
    [['Example Cloud platform', '', 'Paused the app everywhere', 'Reason: Abuse', '—']],
  );
  assert.deepEqual(
    [exported?.actor_kind, exported?.actor_id, exported?.actor, exported?.actor_email, exported?.address],
    ['platform', '', 'Example Cloud', '', ''],
  );
  for (const text of [page.text, csv]) {
    for (const secret of [admin.name, admin.email, admin.id, '127.0.0.1']) assert.ok(!text.includes(secret), secret);
  }
});

test('no search of a business finds a platform admin by name, email, address or id, and the platform’s name finds it', async () => {
  const found = async (query: string) => parseAuditTable(await owner.open(`${LOG}?${query}`)).length;

  for (const text of [admin.name, admin.email, '127.0.0.1', admin.id]) {
    assert.equal(await found(`q=${encodeURIComponent(text)}`), 0, text);
  }
  assert.equal(await found(`by=${admin.id}`), 0);
  assert.equal((await fetchAuditExport(owner, `${LOG}.csv?q=${encodeURIComponent(admin.email)}`)).length, 0);
  assert.equal(await found('q=example+cloud'), 1);
  assert.equal(await found('q=abuse'), 1);
});

test('the platform’s own log names the admin who did it', async () => {
  const [entry] = parseAuditTable(await root.open('/platform/audit-log'));

  assert.deepEqual([entry?.who, entry?.email, entry?.where], ['Rosalind platform', admin.email, '127.0.0.1']);
});

test('the command line exports for a business what its owners see, and everything otherwise', async () => {
  const command = auditCommands.find(({ name }) => name === 'audit export');
  assert.ok(command);
  const env = { DATABASE_URL: server.database.url, PLATFORM_NAME: 'Example Cloud' };
  const run = async (...args: string[]) =>
    JSON.stringify(await command.run(readOptions(command, ['--json', ...args]), env));

  const forBusiness = await run('--business', server.acme.id);

  assert.match(forBusiness, /"name":"Example Cloud"/);
  for (const secret of [admin.name, admin.email, admin.id]) assert.ok(!forBusiness.includes(secret), secret);
  assert.ok((await run()).includes(admin.email));
});
