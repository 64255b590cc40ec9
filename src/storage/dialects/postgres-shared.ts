import type pg from 'pg';
import { StorageUnavailable } from '../errors.ts';
import { isOutdatedPlan, translate } from './postgres-errors.ts';
import { connect, type Pools } from './postgres-pools.ts';

/** One for reads, one for writes. */
export const SHARED_CONNECTIONS = 2;

export interface Shared {
  run(query: pg.QueryConfig): Promise<pg.QueryResult>;
  close(): Promise<void>;
}

/**
 * A connection that many share: each statement is sent right behind the others', without waiting for what they are
 * answered. It is for what takes no time: for reads, and for writes of one row that do not wait for the disk, since the
 * server carries them out one after the other.
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
      if (translated instanceof StorageUnavailable) leave(asked);
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
