import pg from 'pg';
import { SECOND } from '../../lib/clock.ts';
import { StorageUnavailable } from '../errors.ts';
import type { TimeoutProfile } from '../storage.ts';
import type { PostgresTarget } from './target.ts';

/** One pool per host. Only the writable one ever hands out connections; which that is may change. */
export interface Pools {
  all: pg.Pool[];
  last: number;
}

/** Short enough that a database in trouble is noticed at once, and nobody queues behind it. */
const CONNECT_WITHIN = 2 * SECOND;
const ANSWER_WITHIN = 4 * SECOND;
const LOCK_TIMEOUT = 2 * SECOND;
const SERVER_LIMITS = [`statement_timeout=${3 * SECOND}`, `idle_in_transaction_session_timeout=${10 * SECOND}`];

/**
 * Nearly all that is asked here is asked by a key, of pages that are in memory or on a disk without a head to move. As it
 * comes, PostgreSQL reckons with one that moves, and would rather read all apps than find one.
 */
const DISK_WITHOUT_HEAD = 'random_page_cost=1.1';

interface Use {
  commit: 'on' | 'off';
  /** Whether a statement is sent before the one before it is answered. */
  pipeline?: boolean;
  /** How long a statement waits for a lock, in milliseconds. */
  lockTimeout?: number;
}

export function openPools(target: PostgresTarget, haste: TimeoutProfile, use: Use): Pools {
  const { hosts, user, password, database, poolSize, ssl } = target;
  const { commit, pipeline = false, lockTimeout = LOCK_TIMEOUT } = use;
  const limits = haste === 'serving' ? [...SERVER_LIMITS, `lock_timeout=${lockTimeout}`] : [];
  const settings = [`synchronous_commit=${commit}`, DISK_WITHOUT_HEAD, ...limits];
  const all = hosts.map(({ host, port }) => {
    const pool = new pg.Pool({
      host,
      port,
      user,
      password,
      database,
      ssl,
      options: settings.map((setting) => `-c ${setting}`).join(' '),
      max: poolSize,
      pipeline,
      connectionTimeoutMillis: CONNECT_WITHIN,
      ...(haste === 'serving' && { query_timeout: ANSWER_WITHIN }),
      keepAlive: true,
      // A server that hangs must not keep a node that is done from ending.
      allowExitOnIdle: true,
      application_name: 'gatehouse',
      types: { getTypeParser },
      onConnect: refuseStandby,
    });
    // A connection that breaks while it is idle is simply gone; the next one is opened when it is needed.
    pool.on('error', () => {});
    return pool;
  });
  return { all, last: 0 };
}

export async function connect(pools: Pools): Promise<pg.PoolClient> {
  let failure: unknown;
  for (let i = 0; i < pools.all.length; i++) {
    const place = (pools.last + i) % pools.all.length;
    const pool = pools.all[place];
    if (!pool) continue;
    // A pool that is merely busy is the right one all the same: the others have nothing to offer.
    const isBusy = pool.totalCount >= (pool.options.max ?? 0) && pool.idleCount === 0;
    try {
      const client = await pool.connect();
      pools.last = place;
      return client;
    } catch (error) {
      failure = error;
      if (isBusy) break;
    }
  }
  const reason = failure instanceof Error ? failure.message.replace(/\.$/, '') : String(failure);
  throw new StorageUnavailable(`No writable PostgreSQL can be reached: ${reason}.`, { cause: failure });
}

/** Of all hosts together: only one of them is ever in use. */
export function usageOf({ all }: Pools) {
  const sum = (count: (pool: pg.Pool) => number) => all.reduce((total, pool) => total + count(pool), 0);
  return {
    busy: sum(({ totalCount, idleCount }) => totalCount - idleCount),
    idle: sum(({ idleCount }) => idleCount),
    waiting: sum(({ waitingCount }) => waitingCount),
  };
}

/** Decisions about tokens are never read from a replica: it may not have heard of a revocation yet. */
async function refuseStandby(client: pg.ClientBase): Promise<void> {
  client.on('error', () => {});
  const { rows } = await client.query('select pg_is_in_recovery() as standby');
  if (rows[0].standby) throw new StorageUnavailable('this server is a standby');
}

/** Times and rotations are whole numbers that JavaScript can hold; everything else is as `pg` reads it. */
const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text');
