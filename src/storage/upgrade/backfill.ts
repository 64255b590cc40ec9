import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { monotonicClock, SECOND } from '../../lib/clock.ts';
import type { BackfillStep } from '../migrations/migration.ts';
import { isLockTimeout } from '../postgres/pools.ts';
import type { Database } from '../storage.ts';
import type { Run } from './postgres-steps.ts';
import { recordPosition } from './progress.ts';
import { fillRows, keyAfter } from './statements.ts';

/** In milliseconds: a batch locks its rows for about this long. */
const BATCH_TIME = 20;
/** Less than `deadlock_timeout`, so that a batch gives up before a request would. */
const ROW_LOCK_TIMEOUT = 20;
const MIN_ROWS = 20;
const MAX_ROWS = 5000;
const REPORT_EVERY = 5 * SECOND;

/** Continues after `position`, which is committed together with each batch. Half of the time it pauses. */
export async function backfill(run: Run, step: BackfillStep, position: string | undefined): Promise<void> {
  let [rows, done, reported] = [200, 0, monotonicClock()];
  for (let after = position; ; ) {
    const began = monotonicClock();
    const batch = await fillBatch(run, step, { after, rows });
    const took = monotonicClock() - began;
    if (batch === 'locked') {
      rows = Math.max(MIN_ROWS, Math.floor(rows / 2));
    } else {
      done += rows;
      if (batch.last === undefined) return;
      after = batch.last;
      rows = Math.round(Math.min(MAX_ROWS, 2 * rows, Math.max(MIN_ROWS, (rows * BATCH_TIME) / took)));
    }
    if (monotonicClock() - reported > REPORT_EVERY) {
      run.onProgress(`${step.table}: ${done} rows`);
      reported = monotonicClock();
    }
    await sleep(Math.min(took, 5 * BATCH_TIME));
  }
}

/** Returns the last key of the batch; undefined if it was the last batch. */
async function fillBatch(
  { storage, lease, migration }: Run,
  step: BackfillStep,
  { after, rows }: { after: string | undefined; rows: number },
): Promise<{ last: string | undefined } | 'locked'> {
  try {
    return await storage.transaction(async (tx) => {
      await limitBatch(tx);
      await lease.hold(tx);
      const { rows: found } = await keyAfter(step, after, rows).execute(tx);
      const last = found[0]?.key;
      await fillRows(step, { after, to: last }).execute(tx);
      if (last !== undefined) await recordPosition(tx, migration, last);
      return { last };
    });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    return 'locked';
  }
}

/** The position is in the same transaction, so a power cut may undo batches: they are repeated. */
async function limitBatch(tx: Database): Promise<void> {
  await sql`select set_config('lock_timeout', ${`${ROW_LOCK_TIMEOUT}ms`}, true), set_config('synchronous_commit', 'off', true)`.execute(
    tx,
  );
}
