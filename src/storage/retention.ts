import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Clock, DAY, HOUR, MINUTE, monotonicClock, SECOND } from '../lib/clock.ts';
import { createPlausibleClock } from './plausible-clock.ts';
import { type Database, inTransaction, type Storage } from './storage.ts';
import type { Tables } from './tables.ts';

const INTERVAL = 5 * SECOND;
const NOTIFY_INTERVAL = 10 * MINUTE;
const BATCH_SIZE = 500;
/** Each takes a few milliseconds; the next run continues. */
const MAX_VACUUM_STEPS = 64;

/** Processes at most `limit` rows, which it finds by an index, and returns how many it processed. */
type BatchJob = (db: Database, limit: number, now: number) => Promise<number>;

export interface RetentionStep {
  table: keyof Tables;
  remove: BatchJob;
  /** Runs before, in transactions of its own. If it fails, no row is removed. */
  prepare?: BatchJob;
}

/** Removes the rows whose `column`, which needs an index, is at most `until`, the lowest first. */
export function retentionStep<Table extends keyof Tables>(
  table: Table,
  primaryKey: (keyof Tables[Table] & string)[],
  column: keyof Tables[Table] & string,
  until: (now: number) => number,
): RetentionStep {
  const [rows, key] = [sql.table(table), sql.join(primaryKey.map((name) => sql.ref(name)))];
  return {
    table,
    async remove(db, limit, now) {
      const isOld = sql`${sql.ref(column)} <= ${until(now)}`;
      const oldest = sql`select ${key} from ${rows} where ${isOld} order by ${sql.ref(column)} limit ${limit}`;
      // The condition is repeated: a row that is renewed while the statement waits for its lock has to stay.
      const { numAffectedRows } = await sql`delete from ${rows} where ${isOld} and (${key}) in (${oldest})`.execute(db);
      return Number(numAffectedRows);
    },
  };
}

interface RetentionMeter {
  removed(table: keyof Tables, rows: number): void;
  /** Nothing was left to remove. */
  finished(now: number): void;
  /** In milliseconds; 0 while the clock is plausible. */
  recordClockJump(milliseconds: number): void;
}

interface RetentionOptions {
  steps: RetentionStep[];
  /** Notifies apps of rows that will expire soon. */
  notifyExpiring: BatchJob;
  meter: RetentionMeter;
  report(error: unknown): void;
  warn(message: string): void;
}

/**
 * Runs all steps until nothing is left, in batches, so that other statements run in between. A step that fails does not stop the others: at
 * the end, it throws their errors.
 */
export async function removeExpired(
  db: Database,
  steps: RetentionStep[],
  now: number,
  { isStopped, removed }: { isStopped(): boolean; removed: RetentionMeter['removed'] } = WITHOUT_METER,
): Promise<void> {
  const errors: unknown[] = [];
  for (const { table, prepare, remove } of steps) {
    try {
      if (prepare) await runBatches((limit) => inTransaction(db, (tx) => prepare(tx, limit, now)), isStopped);
      await runBatches(async (limit) => {
        const rows = await remove(db, limit, now);
        removed(table, rows);
        return rows;
      }, isStopped);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(withoutRepeats(errors), 'Some expired rows could not be removed.');
}

async function runBatches(job: (limit: number) => Promise<number>, isStopped: () => boolean): Promise<void> {
  for (let rows = BATCH_SIZE; rows === BATCH_SIZE && !isStopped(); await setImmediate()) rows = await job(BATCH_SIZE);
}

const WITHOUT_METER = { isStopped: () => false, removed() {} };

/** Runs in the background until the returned function is called. */
export function startRetention(storage: Storage, clock: Clock, options: RetentionOptions): () => Promise<void> {
  const { steps, notifyExpiring, meter, report } = options;
  const readPlausibleTime = createPlausibleClock(storage.relaxed, clock);
  const reportJump = createJumpReport(options);
  let notifiedAt = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;
  let hasStopped = false;
  const isStopped = () => hasStopped;
  const start = (task: () => Promise<unknown>) => {
    running ??= task()
      .then(() => {}, report)
      .finally(() => {
        running = undefined;
      });
  };
  const checkClock = async () => {
    const plausible = await readPlausibleTime();
    reportJump(plausible.jump);
    return plausible;
  };
  const run = async () => {
    const { time, jump } = await checkClock();
    await removeExpired(storage.durable, steps, time, { isStopped, removed: meter.removed }).then(
      () => meter.finished(clock()),
      report,
    );
    await vacuum(storage, isStopped);
    if (jump > 0 || monotonicClock() - notifiedAt < NOTIFY_INTERVAL) return;
    notifiedAt = monotonicClock();
    await runBatches((limit) => storage.transaction((tx) => notifyExpiring(tx, limit, time)), isStopped);
  };
  // Lists every table in the metrics.
  for (const { table } of steps) meter.removed(table, 0);
  // At once: later readings of the clock are compared with this one.
  start(checkClock);
  const timer = setInterval(() => start(run), INTERVAL);
  timer.unref();
  return async () => {
    hasStopped = true;
    clearInterval(timer);
    await running;
  };
}

/** If the database is not available, all steps fail in the same way. */
function withoutRepeats(errors: unknown[]): unknown[] {
  return [...new Map(errors.map((error) => [String(error), error])).values()];
}

/** Removed rows leave free pages in an SQLite file. */
async function vacuum(storage: Storage, isStopped: () => boolean): Promise<void> {
  for (let i = 0; i < MAX_VACUUM_STEPS && !isStopped() && (await storage.releaseFreePages?.()); i++) {
    await setImmediate();
  }
}

/** Updates the metric at once, and logs a warning every hour for as long as the jump lasts. */
function createJumpReport({ warn, meter }: RetentionOptions): (jump: number) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (jump) => {
    meter.recordClockJump(jump);
    if (jump === 0) reportedAt = Number.NEGATIVE_INFINITY;
    else if (monotonicClock() - reportedAt >= HOUR) {
      reportedAt = monotonicClock();
      const days = (jump / DAY).toFixed(1);
      warn(
        `The clock is ${days} days ahead of the expected time, so no old data is removed. Correct the clock. If it is correct, and the server was off, run: gatehouse clock confirm`,
      );
    }
  };
}
