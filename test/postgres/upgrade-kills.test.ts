import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { openStorage } from '../../src/storage/open.ts';
import { databaseUrl, TEMPLATE } from '../support/databases.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from '../support/sample-migrations.ts';

const server = await startPostgres();
after(() => server.remove());
await createTemplate(server.url);
const url = databaseUrl(server.url, TEMPLATE);
const storage = await openStorage(url);
after(() => storage.close());
const GRANTS = 20_000;
const STEPS = SAMPLE_EXPAND.steps.length + SAMPLE_CONTRACT.steps.length;

/** Kills the migrator some milliseconds after it has begun the nth remaining step. Returns false if it exited before. */
async function migrateAndKill(nth: number, delay: number): Promise<boolean> {
  const script = fileURLToPath(new URL('../support/run-upgrade.ts', import.meta.url));
  const child = spawn(process.execPath, [script, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  let begun = 0;
  for await (const line of createInterface(child.stdout)) {
    if (/step \d of \d: (add|build|fill rows|check|drop)/.test(line)) begun += 1;
    if (begun < nth) continue;
    await setTimeout(delay);
    child.kill('SIGKILL');
  }
  const [code] = await ended;
  return code !== 0;
}

test('a migration that is killed in any step is continued by the next one', { timeout: 300_000 }, async () => {
  await sql`insert into grants (id, salt, app_id, user_id, business_id, scopes, created_at, code_expires_at, rotation, removable_on)
    select gen_random_uuid(), '', gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '', n * 86400000::bigint, 0, 0, 0
    from generate_series(1, ${GRANTS}::int) as n`.execute(storage.durable);
  let kills = 0;
  for (let round = 0; round < 3 * STEPS; round++) {
    // Kills it in the first remaining step: before, during and after its statements.
    const wasKilled = await migrateAndKill(1, [0, 30, 150][round % 3] ?? 0);
    if (!wasKilled) break;
    kills += 1;
    // Ends the lease, instead of waiting until it expires.
    await sql`update migration_lease set expires_at = 0`.execute(storage.durable);
  }

  assert.equal(await migrateAndKill(STEPS + 1, 0), false);
  assert.ok(kills >= 3, `${kills} kills`);
  const { rows } = await sql`select count(*)::int as filled, bool_and(sample_day = created_at / 86400000) as correct
    from grants`.execute(storage.durable);
  assert.deepEqual(rows, [{ filled: GRANTS, correct: true }]);
  const { rows: left } = await sql`select to_regclass('grants_by_sample') as index,
    (select count(*)::int from pg_index where not indisvalid) as invalid,
    (select count(*)::int from migration_progress where finished_at is null) as unfinished`.execute(storage.durable);
  assert.deepEqual(left, [{ index: null, invalid: 0, unfinished: 0 }]);
});
