import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { StorageUnavailable } from '../errors.ts';
import { isLockTimeout, isOutdatedPlan, translate } from './errors.ts';
import { connect, type Pools } from './pools.ts';

/** One for reads, one for writes. */
export const SHARED_CONNECTIONS = 2;

export interface Shared {
  run(query: pg.QueryConfig): Promise<pg.QueryResult>;
  close(): Promise<void>;
}

/**
 * A connection that many share: each statement is sent right behind the others', without waiting for what they are
 * answered. It is for what takes no time: for reads, and for writes of one row that wait neither for the disk nor for a
 * lock, since the server carries them out one after the other.
 */
export function newShared(pools: Pools): Shared {
  let shared: Promise<pg.PoolClient> | undefined;

  function open(): Promise<pg.PoolClient> {
    const opened = connect(pools).then((client) => {
      client.once('end', () => leave(opened));
      return client;
    });
    return opened;
  }

  /** Whoever asks next opens another. */
  function leave(left: Promise<pg.PoolClient> | undefined): Promise<void> | undefined {
    if (shared !== left) return undefined;
    shared = undefined;
    return left?.then(
      (client) => client.release(true),
      () => {},
    );
  }

  async function ask(query: pg.QueryConfig): Promise<pg.QueryResult> {
    shared ??= open();
    const asked = shared;
    try {
      const client = await asked;
      return await client.query(query);
    } catch (error) {
      const translated = translate(error);
      // Those who asked before are still answered on it.
      if (translated instanceof StorageUnavailable && !isLockTimeout(translated)) leave(asked);
      throw translated;
    }
  }

  return {
    run: ({ name, ...query }) =>
      ask({ name, ...query }).catch((error) => {
        if (!isOutdatedPlan(error)) throw error;
        return ask(query);
      }),
    close: async () => leave(shared),
  };
}

/** In milliseconds, the shortest that PostgreSQL knows: meanwhile every statement behind it waits, too. */
export const SHARED_LOCK_TIMEOUT = 1;
/** Between two attempts at a locked row; two seconds in all. */
const PAUSES = [10, 50, 150, 300, 500, 990];
/** Each attempt of one that waits delays all others by up to SHARED_LOCK_TIMEOUT, so only a few may wait. */
const MAX_WAITING = 20;

/** Waits for a locked row without occupying a connection: it tries again after a pause. */
export function retryLocked({ run, close }: Shared): Shared {
  let waiting = 0;

  async function retry(query: pg.QueryConfig, error: unknown): Promise<pg.QueryResult> {
    let last = error;
    for (const pause of PAUSES) {
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
