import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { openStorage } from '../../src/storage/open.ts';
import { databaseUrl, TEMPLATE, withLongConnectTimeout } from '../support/databases.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from '../support/sample-migrations.ts';

const server = await startPostgres();
after(() => server.remove());
await createTemplate(server.url);
const url = withLongConnectTimeout(databaseUrl(server.url, TEMPLATE));
const storage = await openStorage(url, 'migrating');
after(() => storage.close());
const GRANTS = 20_000;
/** Before the statements of the first remaining step, after them, and during those of the next one. */
const MOMENTS = [
  [1, 0],
  [2, 0],
  [1, 30],
];
const STEPS = SAMPLE_EXPAND.steps.length + SAMPLE_CONTRACT.steps.length;

/** The migrator is killed some milliseconds after it has begun the nth remaining step. Returns false if it exited before. */
async function migrateAndKill(nth: number, delay: number): Promise<boolean> {
  const script = fileURLToPath(new URL('../support/run-upgrade.ts', import.meta.url));
  const child = spawn(process.execPath, [script, url, String(nth), String(delay)], { stdio: 'inherit' });
  const [code, signal] = await once(child, 'exit');
  assert.ok(code === 0 || signal === 'SIGKILL', `exit code ${code}`);
  return code !== 0;
}

test('a migration that is killed in any step is continued by the next one', { timeout: 300_000 }, async () => {
  await sql`insert into grants (id, salt, app_id, user_id, business_id, scopes, created_at, code_expires_at, rotation, removable_on)
    select gen_random_uuid(), '', gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '', n * 86400000::bigint, 0, 0, 0
    from generate_series(1, ${GRANTS}::int) as n`.execute(storage.durable);
  let kills = 0;
  for (let round = 0; round < 3 * STEPS; round++) {
    const [nth, delay] = MOMENTS[round % MOMENTS.length] as [number, number];
    const wasKilled = await migrateAndKill(nth, delay);
    if (!wasKilled) break;
    kills += 1;
    // Ends the lease, instead of waiting until it expires.
    await sql`update migration_lease set expires_at = 0`.execute(storage.durable);
  }

  assert.equal(await migrateAndKill(STEPS + 1, 0), false);
  // A fast machine may finish all steps in the third round.
  assert.ok(kills >= 2, `${kills} kills`);
  const { rows } = await sql`select count(*)::int as filled, bool_and(sample_day = created_at / 86400000) as correct
    from grants`.execute(storage.durable);
  assert.deepEqual(rows, [{ filled: GRANTS, correct: true }]);
  const { rows: left } = await sql`select to_regclass('grants_by_sample') as index,
    (select count(*)::int from pg_index where not indisvalid) as invalid,
    (select count(*)::int from migration_progress where finished_at is null) as unfinished`.execute(storage.durable);
  assert.deepEqual(left, [{ index: null, invalid: 0, unfinished: 0 }]);
});
