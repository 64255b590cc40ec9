import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { StorageUnavailable } from '../storage.ts';
import { corkWrites } from './corked-writes.ts';
import { connect, isLockTimeout, type Pools, translateError } from './pools.ts';
import { sendAlone } from './session.ts';

export interface Pipeline {
  run(query: pg.QueryConfig): Promise<pg.QueryResult>;
  close(): Promise<void>;
}

/**
 * A connection that many requests share: a statement is sent before the results of the previous ones have arrived. The server executes
 * them in order, so it is only for reads, and for writes of one row that wait neither for the disk nor for a lock.
 */
export function createPipeline(pools: Pools): Pipeline {
  let current: Promise<pg.PoolClient> | undefined;

  function open(): Promise<pg.PoolClient> {
    const opened = connect(pools).then((client) => {
      client.once('end', () => discard(opened));
      return client;
    });
    return opened;
  }

  /** The next statement opens another connection. */
  function discard(connection: Promise<pg.PoolClient> | undefined): Promise<void> | undefined {
    if (current !== connection) return undefined;
    current = undefined;
    return connection?.then(
      (client) => client.release(true),
      () => {},
    );
  }

  async function run(query: pg.QueryConfig): Promise<pg.QueryResult> {
    current ??= open();
    const connection = current;
    try {
      const client = await connection;
      if (pools.primary.isReplaced(client)) throw new StorageUnavailable('This primary was replaced.');
      corkWrites(client);
      return await sendAlone(pools.session, client, query);
    } catch (error) {
      const translated = translateError(error);
      // The results of statements that were sent before still arrive on it.
      if (translated instanceof StorageUnavailable && !isLockTimeout(translated)) discard(connection);
      throw translated;
    }
  }

  return { run, close: async () => discard(current) };
}

/** In milliseconds, PostgreSQL's minimum: every later statement waits as well. */
export const PIPELINE_LOCK_TIMEOUT = 1;
/** Between two attempts at a locked row; two seconds in all. */
const RETRY_PAUSES = [10, 50, 150, 300, 500, 990];
/** Each attempt delays all other statements by up to PIPELINE_LOCK_TIMEOUT. */
const MAX_WAITING = 50;

/** Waits for locked rows without occupying a connection: it tries again after a pause. */
export function retryLocked({ run, close }: Pipeline): Pipeline {
  let waiting = 0;

  async function retry(query: pg.QueryConfig, error: unknown): Promise<pg.QueryResult> {
    let last = error;
    for (const pause of RETRY_PAUSES) {
      if (!isLockTimeout(last)) throw last;
      await setTimeout(pause);
      try {
        return await run(query);
      } catch (failure) {
        last = failure;
      }
    }
    throw last;
  }

  return {
    run: (query) =>
      run(query).catch(async (error) => {
        if (!isLockTimeout(error) || waiting >= MAX_WAITING) throw error;
        waiting += 1;
        try {
          return await retry(query, error);
        } finally {
          waiting -= 1;
        }
      }),
    close,
  };
}
