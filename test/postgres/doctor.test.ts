import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createCommandLine } from '../support/command-line.ts';
import { assertFinding, runDoctor } from '../support/doctor.ts';
import { startPostgres } from '../support/postgres-server.ts';

test('a PostgreSQL that is not migrated, or may lose commits, is a problem', async () => {
  const postgres = await startPostgres(['max_connections=27']);
  after(() => postgres.remove());
  const cli = createCommandLine();
  const env = { DATABASE_URL: postgres.url, SECRET_KEYS: 'Vw0k4XGn1q8sT7mZc3yB5rJ6uH9eLdPf' };

  const outdated = await runDoctor(cli, env);
  const storage = await openStorage(postgres.url);
  await migrate(storage);
  await storage.close();
  const unsafe = await runDoctor(cli, env);
  const crowded = await runDoctor(cli, { ...env, DATABASE_URL: `${postgres.url}?pool_size=50` });

  assertFinding(outdated.findings, 'problem', /older than this version: 001-initial/);
  assertFinding(unsafe.findings, 'problem', /^fsync is off/);
  assertFinding(unsafe.findings, 'ok', /^The clocks of this machine and of PostgreSQL differ by \d+\.\d s/);
  assertFinding(unsafe.findings, 'ok', /^There are enough connections for 1 node at this pool_size/);
  assertFinding(crowded.findings, 'problem', /One node opens up to 102 connections, and the server allows 27/);
  assert.equal(JSON.stringify(crowded.findings).includes('gatehouse:gatehouse'), false);
});
