import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { upgrade } from '../../src/storage/migrate.ts';
import { MIGRATIONS } from '../../src/storage/migrations/all.ts';
import { openStorage } from '../../src/storage/open.ts';
import { databaseUrl, runAsAdmin, TEMPLATE, withLongConnectTimeout } from '../support/databases.ts';
import { createWorkspace, ROOT } from '../support/guides.ts';
import { freePort } from '../support/ports.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from '../support/sample-migrations.ts';
import { startWorkers } from '../support/workers.ts';

const server = await startPostgres();
after(() => server.remove());
await createTemplate(server.url);

const NEXT_RELEASE = { migrations: [...MIGRATIONS, SAMPLE_EXPAND, SAMPLE_CONTRACT], missedHeartbeatPolls: 1 };
const REASON = `The database that DATABASE_URL names was changed by a newer Gatehouse (${SAMPLE_CONTRACT.name}). Run that version.`;

async function openDatabase(name: string) {
  await runAsAdmin(server.url, [`create database ${name} template ${TEMPLATE}`]);
  const url = withLongConnectTimeout(databaseUrl(server.url, name));
  const storage = await openStorage(url, 'migrating');
  after(() => storage.close());
  return { url, storage };
}

test('a node that was frozen while a newer release contracted the schema stops, and logs the reason', {
  timeout: 120_000,
}, async () => {
  const { url, storage } = await openDatabase('frozen');
  const node = await startWorkers(1, url);

  node.signal('SIGSTOP');
  // Makes its last report two minutes old.
  await sql`update nodes set seen_at = seen_at - 120000`.execute(storage.durable);
  const { waiting } = await upgrade(storage, NEXT_RELEASE);
  node.signal('SIGCONT');
  const code = await node.end();

  assert.deepEqual(waiting, []);
  assert.equal(code, 1);
  assert.equal(node.stderrLines.at(-1), REASON);
});

test('with worker processes, none is replaced: the command stops, and says why once', {
  timeout: 120_000,
}, async () => {
  const { url, storage } = await openDatabase('frozen_workers');
  const node = await startWorkers(2, url);

  node.signalAll('SIGSTOP');
  await sql`update nodes set seen_at = seen_at - 120000`.execute(storage.durable);
  await upgrade(storage, NEXT_RELEASE);
  node.signalAll('SIGCONT');
  const code = await node.end();

  assert.equal(code, 1);
  assert.deepEqual(
    node.stderrLines.filter((line) => /exited|newer Gatehouse/.test(line)),
    [REASON],
  );
  assert.equal(node.hasExited(), true);
});

test('with worker processes, a replacement that finds a newer schema is the last one', {
  timeout: 120_000,
}, async () => {
  const { url, storage } = await openDatabase('killed_worker');
  const node = await startWorkers(2, url);
  while (node.pids.size < 2) await new Promise(setImmediate);
  const [worker] = node.pids;
  assert.ok(worker);

  await upgrade(storage, { ...NEXT_RELEASE, ignoresOlderNodes: true });
  killIfRunning(worker);
  const code = await node.end();

  assert.equal(code, 1);
  assert.equal(node.stderrLines.at(-1), REASON);
});

/** A heartbeat may have ended the worker before. */
function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
  }
}

test('the demo stops when a newer release has contracted the schema, and says why', { timeout: 120_000 }, async () => {
  const { url, storage } = await openDatabase('outdated_demo');
  const port = await freePort(5);
  const env = { DATABASE_URL: url, BASE_URL: `http://localhost:${port}`, CONSENT_URL: `http://localhost:${port + 1}` };
  const demo = createWorkspace().run([process.execPath, join(ROOT, 'src/cli/main.js'), 'demo'], { env });
  await demo.waitForOutput(/Press Ctrl\+C/);

  await upgrade(storage, { ...NEXT_RELEASE, ignoresOlderNodes: true });
  const { status, stderr } = await demo.end();

  assert.equal(status, 1);
  assert.equal(stderr, `${REASON}\n`);
});
