import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { monotonicClock, SECOND } from '../../lib/clock.ts';
import type { BackfillStep } from '../migrations/migration.ts';
import { isLockTimeout } from '../postgres/pools.ts';
import type { Database } from '../storage.ts';
import type { MigrationRun } from './postgres-steps.ts';
import { recordPosition } from './progress.ts';
import { fillRows, fillToNthRow } from './statements.ts';

/** In milliseconds: a batch locks its rows for about this long. */
const BATCH_TIME = 30;
/** Less than `deadlock_timeout`, so that a batch gives up before a request would. */
const ROW_LOCK_TIMEOUT = 20;
const MIN_ROWS = 500;
const MAX_ROWS = 5000;
const REPORT_EVERY = 5 * SECOND;

/**
 * Continues after `position`, which is committed together with each batch. Half of the time it pauses. A batch does not need the
 * lease: rows that another migrator has filled meanwhile are skipped.
 */
export async function backfill(run: MigrationRun, step: BackfillStep, position: string | undefined): Promise<void> {
  let [rows, done, reported] = [MIN_ROWS, 0, monotonicClock()];
  for (let after = position; ; ) {
    const batch = await fillBatch(run, step, { after, rows });
    if (batch === 'locked') {
      rows = Math.max(MIN_ROWS, Math.floor(rows / 2));
      await sleep(2 * ROW_LOCK_TIMEOUT);
      continue;
    }
    if (batch.last === undefined) return;
    after = batch.last;
    done += rows;
    rows = Math.round(Math.min(MAX_ROWS, 2 * rows, Math.max(MIN_ROWS, (rows * BATCH_TIME) / batch.took)));
    if (monotonicClock() - reported > REPORT_EVERY) {
      run.onProgress(`${done} rows`);
      reported = monotonicClock();
    }
    await sleep(Math.min(batch.took, BATCH_TIME));
  }
}

interface Batch {
  /** Undefined: there are no more rows. */
  last: string | undefined;
  /** How long its rows were locked, without the commit, in milliseconds. */
  took: number;
}

async function fillBatch(
  { storage, migration }: MigrationRun,
  step: BackfillStep,
  { after, rows }: { after: string | undefined; rows: number },
): Promise<Batch | 'locked'> {
  try {
    return await storage.transaction(async (tx) => {
      await setBatchLimits(tx);
      const began = monotonicClock();
      const last = (await fillToNthRow(step, after, rows).execute(tx)).rows[0]?.key;
      // Fewer rows than that are left, and those that were inserted meanwhile.
      if (last === undefined) await fillRows(step, after).execute(tx);
      const took = monotonicClock() - began;
      if (last !== undefined) await recordPosition(tx, migration, step, last);
      return { last, took };
    });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    return 'locked';
  }
}

/** The position is in the same transaction, so a power cut may undo batches: they are repeated. */
async function setBatchLimits(tx: Database): Promise<void> {
  const [lockTimeout, commit] = [`${ROW_LOCK_TIMEOUT}ms`, 'off'];
  await sql`select set_config('lock_timeout', ${lockTimeout}, true), set_config('synchronous_commit', ${commit}, true)`.execute(
    tx,
  );
}
