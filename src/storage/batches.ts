import { pipelinesOf } from './prepared-query.ts';
import type { Database } from './storage.ts';

/** A full batch is sent at once, so that the first calls do not wait for many others. */
const MAX_BATCH = 64;

export interface PendingCall<Values, Result> {
  values: Values;
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

/** Collects the calls of one event loop iteration, and runs them together. If `runMany` throws, all of them fail. */
export function collectBatches<Values, Result>(
  runMany: (db: Database, batch: PendingCall<Values, Result>[]) => Promise<void>,
): (db: Database, values: Values) => Promise<Result> {
  const batches = new WeakMap<object, PendingCall<Values, Result>[]>();

  async function flush(db: Database, batch: PendingCall<Values, Result>[]): Promise<void> {
    batches.delete(keyOf(db));
    try {
      await runMany(db, batch);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  function join(db: Database, call: PendingCall<Values, Result>): void {
    const key = keyOf(db);
    const batch = batches.get(key) ?? [];
    batch.push(call);
    if (batch.length === MAX_BATCH) flush(db, batch);
    if (batch.length > 1) return;
    batches.set(key, batch);
    setImmediate(() => {
      if (batches.get(key) === batch) flush(db, batch);
    });
    pipelinesOf(db)?.scheduleSend();
  }

  return (db, values) => new Promise((resolve, reject) => join(db, { values, resolve, reject }));
}

/** A database and its copies share one adapter. */
function keyOf(db: Database): object {
  return db.getExecutor().adapter;
}
