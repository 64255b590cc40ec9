import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { upgrade } from '../../src/storage/migrate.ts';
import { MIGRATIONS } from '../../src/storage/migrations/all.ts';
import { openStorage } from '../../src/storage/open.ts';
import { databaseUrl, runAsAdmin, TEMPLATE } from '../support/databases.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from '../support/sample-migrations.ts';
import { startWorkers } from '../support/workers.ts';

const server = await startPostgres();
after(() => server.remove());
await createTemplate(server.url);

async function openDatabase(name: string) {
  await runAsAdmin(server.url, [`create database ${name} template ${TEMPLATE}`]);
  const url = databaseUrl(server.url, name);
  const storage = await openStorage(url, 'migrating');
  after(() => storage.close());
  return { url, storage };
}

test('a node that was frozen while a newer release contracted the schema stops, and says why', {
  timeout: 120_000,
}, async () => {
  const { url, storage } = await openDatabase('frozen');
  const node = await startWorkers(1, url);

  node.signal('SIGSTOP');
  // As after two minutes.
  await sql`update nodes set seen_at = seen_at - 120000`.execute(storage.durable);
  const { waiting } = await upgrade(storage, {
    migrations: [...MIGRATIONS, SAMPLE_EXPAND, SAMPLE_CONTRACT],
    looksForSilent: 1,
  });
  node.signal('SIGCONT');
  const code = await node.end();

  assert.deepEqual(waiting, []);
  assert.equal(code, 1);
  assert.match(
    node.stderrLines.at(-1) ?? '',
    /changed by a newer Gatehouse \(901-sample-contract\)\. Run that version\.$/,
  );
});

test('with worker processes, the replacement of one that was frozen does not start either', {
  timeout: 120_000,
}, async () => {
  const { url, storage } = await openDatabase('frozen_workers');
  const node = await startWorkers(2, url);

  node.signalAll('SIGSTOP');
  await sql`update nodes set seen_at = seen_at - 120000`.execute(storage.durable);
  await upgrade(storage, { migrations: [...MIGRATIONS, SAMPLE_EXPAND, SAMPLE_CONTRACT], looksForSilent: 1 });
  node.signalAll('SIGCONT');
  const rejected = /has exited: .*changed by a newer Gatehouse/;
  while (node.stderrLines.filter((line) => rejected.test(line)).length < 4) await new Promise(setImmediate);
  const response = await fetch(`${node.api}/readyz`).catch(() => undefined);
  node.signal('SIGTERM');
  await node.end();

  assert.equal(response, undefined);
});
