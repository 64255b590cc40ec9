import pg from 'pg';
import { SECOND } from '../../lib/clock.ts';
import { VERSION } from '../../lib/package.ts';
import { OutdatedPlan, StorageUnavailable, type TimeoutProfile } from '../storage.ts';
import { getTypeParser, keepDescriptions } from './named-statement.ts';
import type { Primary } from './primary.ts';
import { createSession, IDLE_LIMIT, IDLE_TIMEOUT, type Session, type SessionOptions } from './session.ts';
import type { PostgresTarget } from './url.ts';

/** One pool per host. Only the pool of the writable host is used; after a failover that is another one. */
export interface Pools {
  all: pg.Pool[];
  last: number;
  /** Whether a commit waits for the disk, and for synchronous standbys. */
  isDurable: boolean;
  primary: Primary;
  /** Connections that were opened before an upgrade was noticed have outdated plans. */
  outdated: { schema: number; connections: WeakMap<pg.ClientBase, number> };
  /** Citus cannot run a statement that writes to a distributed table and to others. Undefined before the first connection. */
  isSharded?: boolean;
  session: Session;
}

/** Short, so that requests fail soon instead of queueing behind a database that does not respond. */
const QUERY_TIMEOUT = 4 * SECOND;

interface PoolOptions extends SessionOptions {
  /** Shared by all pools of a node. */
  primary: Primary;
}

export function openPools(target: PostgresTarget, timeouts: TimeoutProfile, options: PoolOptions): Pools {
  const { commit, primary } = options;
  const session = createSession(target, timeouts, options);
  const outdated = { schema: 0, connections: new WeakMap<pg.ClientBase, number>() };
  const pools: Pools = { all: [], last: 0, isDurable: commit === 'on', primary, outdated, session };
  pools.all = describeServers(target, timeouts).map((server) => {
    const pool = new pg.Pool({
      ...server,
      ...(session.options !== undefined && { options: session.options }),
      max: target.poolSize,
      // A statement can be sent before the results of the previous ones have arrived.
      pipeline: true,
      // A server that does not respond must not keep the process from exiting.
      allowExitOnIdle: true,
      types: { getTypeParser },
      onConnect: (client: pg.ClientBase) => inspectServer(pools, client),
    });
    // A broken idle connection is removed; the next query opens another.
    pool.on('error', () => {});
    return pool;
  });
  return pools;
}

/** How to connect to each of the servers. */
export function describeServers(target: PostgresTarget, timeouts: TimeoutProfile): pg.ClientConfig[] {
  const { hosts, user, password, database, ssl, connectTimeout } = target;
  return hosts.map(({ host, port }) => ({
    host,
    port,
    user,
    password,
    database,
    ssl,
    connectionTimeoutMillis: connectTimeout * SECOND,
    ...(timeouts === 'serving' && { query_timeout: QUERY_TIMEOUT }),
    keepAlive: true,
    application_name: `gatehouse ${VERSION}`,
  }));
}

export async function connect(pools: Pools): Promise<pg.PoolClient> {
  let failure: unknown;
  for (let i = 0; i < pools.all.length; i++) {
    const index = (pools.last + i) % pools.all.length;
    const pool = pools.all[index];
    if (!pool) continue;
    // A busy pool is that of the writable host: no other host would accept a connection.
    const isBusy = pool.totalCount >= (pool.options.max ?? 0) && pool.idleCount === 0;
    try {
      const client = await connectTo(pool, pools);
      pools.last = index;
      return client;
    } catch (error) {
      failure = error;
      if (isBusy) break;
    }
  }
  const message = failure instanceof Error ? failure.message.replace(/\.$/, '') : String(failure);
  const reason = /startup parameter/.test(message) ? `${message}; ${USE_POOLER}` : message;
  throw new StorageUnavailable(`No writable PostgreSQL can be reached: ${reason}.`, { cause: failure });
}

/** Replaces idle connections with outdated plans, or to a primary that was replaced. */
async function connectTo(pool: pg.Pool, { outdated, primary }: Pools): Promise<pg.PoolClient> {
  for (;;) {
    const client = await pool.connect();
    const schema = outdated.connections.get(client) ?? outdated.schema;
    outdated.connections.set(client, schema);
    if (schema === outdated.schema && !primary.isReplaced(client)) return client;
    client.release(true);
  }
}

/** Other connections have the same plans as this one, if they are as old. */
export function outdatePlans({ outdated }: Pools, client: pg.ClientBase): void {
  if (outdated.connections.get(client) === outdated.schema) outdated.schema += 1;
}

/** The sum over all hosts, of which one is in use. */
export function poolUse({ all }: Pools) {
  const sum = (count: (pool: pg.Pool) => number) => all.reduce((total, pool) => total + count(pool), 0);
  return {
    busy: sum(({ totalCount, idleCount }) => totalCount - idleCount),
    idle: sum(({ idleCount }) => idleCount),
    waiting: sum(({ waitingCount }) => waitingCount),
  };
}

const INSPECTION = `select exists (select from pg_extension where extname = 'citus') as sharded,
  current_setting('idle_in_transaction_session_timeout') as timeout, pg_backend_pid() as pid`;

const USE_POOLER = 'if it is reached through a pooler, add pooler=transaction to DATABASE_URL';

async function inspectServer(pools: Pools, client: pg.ClientBase): Promise<void> {
  client.on('error', () => {});
  const [{ rows }] = await Promise.all([client.query(INSPECTION), pools.primary.assertPrimary(client)]);
  pools.isSharded = rows[0].sharded;
  // A pooler has process ids of its own.
  if (rows[0].pid === (client as unknown as { processID: number }).processID) keepDescriptions(client);
  if (pools.session.options?.includes(IDLE_TIMEOUT) && rows[0].timeout !== IDLE_LIMIT) {
    throw new StorageUnavailable(`this server ignores the settings of a connection; ${USE_POOLER}`);
  }
}

/** SQLSTATEs about the server and not about the statement: connection, resources, operator, system, locks, read-only. */
const UNAVAILABLE = /^(08|53|57|58|40|55P03|25006)/;

/**
 * A statement that PostgreSQL rejects is a bug, or needs a feature that the server lacks: its error is not translated.
 */
export function translateError(error: unknown): unknown {
  if (error instanceof StorageUnavailable) return error;
  if (!(error instanceof pg.DatabaseError)) {
    const reason = error instanceof Error ? error.message : String(error);
    return new StorageUnavailable(`The connection to PostgreSQL failed: ${reason}.`, { cause: error });
  }
  const { code = '', message } = error;
  const sentence = `PostgreSQL cannot run the statement now: ${message} (${code}).`;
  if (isOutdated(error)) return new OutdatedPlan(sentence, { cause: error });
  return UNAVAILABLE.test(code) ? new StorageUnavailable(sentence, { cause: error }) : error;
}

/** Another transaction held the lock for longer than `lock_timeout`. The statement changed nothing. */
export function isLockTimeout(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof pg.DatabaseError && cause.code === '55P03';
}

/**
 * An upgrade has added a column since the statement was planned; its SQLSTATE, feature_not_supported, is also that of
 * statements that PostgreSQL or an extension of it cannot run. Or the name of the statement is unknown or already
 * taken, because another request on the shared connection failed to prepare it.
 */
function isOutdated({ code = '', routine }: pg.DatabaseError): boolean {
  return (code === '0A000' && routine === 'RevalidateCachedQuery') || NAME_ERRORS.includes(code);
}

/** `invalid_sql_statement_name` and `duplicate_prepared_statement` */
const NAME_ERRORS = ['26000', '42P05'];
