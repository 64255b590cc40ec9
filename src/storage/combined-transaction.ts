import { setImmediate } from 'node:timers/promises';
import { collectBatches, type PendingCall } from './batches.ts';
import { pipelinesOf } from './prepared-query.ts';
import { type Database, inTransaction } from './storage.ts';

/** In place of a result: this call needs a transaction of its own. */
export const RUN_ALONE = Symbol('run alone');

type Work<Values, Result> = (tx: Database, values: Values) => Promise<Result | typeof RUN_ALONE>;

const combined = new WeakSet<object>();

/** Whether calls of several requests run in this transaction. */
export function isCombined(tx: Database): boolean {
  return combined.has(tx.getExecutor());
}

/**
 * Runs `work` in a transaction. On PostgreSQL, the calls of one event loop iteration run in the same one, so that their batched queries are
 * one statement each. There `work` must not wait for a lock: up to 63 others would wait with it. If a row is locked (`lockingQuery`), or
 * anything else differs from the usual, it returns `RUN_ALONE`. If a call throws, all are rolled back and fail.
 */
export function combinedTransaction<Values extends object, Result>(
  work: Work<Values, Result>,
): (db: Database, values: Values) => Promise<Result> {
  const runAlone = (db: Database, values: Values) => inTransaction(db, (tx) => work(tx, values)) as Promise<Result>;
  const runCombined = collectBatches<Values, Result>(async (db, batch) => {
    const [first] = batch;
    if (first && batch.length === 1) return first.resolve(await runAlone(db, first.values));
    const results = await inTransaction(db, (tx) => runAll(tx, batch, work));
    for (const [index, { values, resolve, reject }] of batch.entries()) {
      const result = results[index] as Result | typeof RUN_ALONE;
      if (result === RUN_ALONE) runAlone(db, values).then(resolve, reject);
      else resolve(result);
    }
  });
  return (db, values) =>
    pipelinesOf(db)?.combinesStatements() && !db.isTransaction ? runCombined(db, values) : runAlone(db, values);
}

async function runAll<Values, Result>(
  tx: Database,
  batch: PendingCall<Values, Result>[],
  work: Work<Values, Result>,
): Promise<(Result | typeof RUN_ALONE)[]> {
  combined.add(tx.getExecutor());
  const settled = await Promise.allSettled(batch.map(({ values }) => work(tx, values)));
  // The commit is sent after the batches of this event loop iteration.
  await setImmediate();
  return settled.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
