import { setImmediate } from 'node:timers/promises';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import type pg from 'pg';
import { sha256 } from '../../lib/secrets.ts';
import type { RunQuery } from '../prepared-query.ts';
import { type Database, OutdatedPlan, StorageUnavailable } from '../storage.ts';
import { corkWrites } from './corked-writes.ts';
import type { Pipeline } from './pipeline.ts';
import { connect, outdatePlans, type Pools, translateError } from './pools.ts';
import { LOCK_REFERENCES, locksReferenceTable } from './reference-tables.ts';
import { send, sendAlone } from './session.ts';

export function createDialect(pools: Pools): Dialect {
  const driver: Driver = {
    async init() {},
    async acquireConnection() {
      return createConnection(pools, await connect(pools));
    },
    async releaseConnection(connection) {
      const { client, isBroken } = connection as PooledConnection;
      client.release(isBroken);
    },
    // Sent with the first statement. The commit waits for its result.
    async beginTransaction(connection) {
      const pooled = connection as PooledConnection;
      pooled.isInTransaction = true;
      pooled.began = pooled.run((client) => client.query(pools.session.begin));
      pooled.began.catch(() => {});
    },
    // If a statement before it fails, PostgreSQL rolls back, and the commit reports no error.
    async commitTransaction(connection) {
      const pooled = connection as PooledConnection;
      const committing = pooled.run((client) => client.query('commit'));
      await Promise.all([pooled.began, ...pooled.unsettled, committing]);
      const { command } = await committing;
      if (command !== 'COMMIT') throw new Error(`PostgreSQL ended the transaction with ${command}.`);
      await pooled.confirm();
    },
    // A broken connection is closed, and the server rolls back.
    async rollbackTransaction(connection) {
      const pooled = connection as PooledConnection;
      if (!pooled.isBroken) await pooled.run((client) => client.query('rollback'));
    },
    async destroy() {},
  };
  return {
    createDriver: () => driver,
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
}

interface PooledConnection extends DatabaseConnection {
  client: pg.PoolClient;
  /** A statement may still be running on it, so it must not be used again. */
  isBroken: boolean;
  isInTransaction: boolean;
  /** Whether its transaction has sent `LOCK_REFERENCES`. */
  hasReferences: boolean;
  began?: Promise<unknown>;
  /** The error of the first statement that failed. PostgreSQL rejects all later ones of its transaction. */
  failure?: unknown;
  /** Statements that were sent, and whose results have not arrived. */
  unsettled: Set<Promise<unknown>>;
  /** Writes, and how many rows they changed. */
  writes: { count: number; rows: bigint };
  run(send: (client: pg.PoolClient) => Promise<pg.QueryResult>): Promise<pg.QueryResult>;
  runAlone: Pipeline['run'];
  execute: Execute;
  /**
   * A durable write that changed nothing may repeat one that a crash has cut off. PostgreSQL shows that one's rows after its recovery,
   * even if no synchronous standby has them, and a commit without changes waits for none: so this one waits.
   */
  confirm(): Promise<void>;
}

/** PostgreSQL rejects a statement only because one before it in the transaction has failed. */
function isAborted(error: unknown): boolean {
  return (error as { code?: string }).code === '25P02';
}

/** Transactional, so its commit waits for the synchronous standbys, which then have all that precedes it. */
const AWAIT_STANDBYS = "select pg_logical_emit_message(true, 'gatehouse', '')";

export type Execute = (text: string, values: unknown[]) => Promise<QueryResult<unknown>>;

function createConnection(pools: Pools, client: pg.PoolClient): PooledConnection {
  const connection: PooledConnection = {
    client,
    isBroken: false,
    isInTransaction: false,
    hasReferences: false,
    unsettled: new Set(),
    writes: { count: 0, rows: 0n },
    runAlone: (query) => connection.run(() => sendAlone(pools.session, client, query)),
    async run(send) {
      try {
        corkWrites(client);
        return await send(client);
      } catch (error) {
        // What was sent with the statement that failed may be reported first.
        if (isAborted(error)) await setImmediate();
        const translated = (isAborted(error) && connection.failure) || translateError(error);
        connection.failure ??= translated;
        if (translated instanceof StorageUnavailable) connection.isBroken = true;
        if (translated instanceof OutdatedPlan) outdatePlans(pools, client);
        throw translated;
      }
    },
    execute(text, values) {
      const running = executeOn(pools, connection, text, values);
      const settle = () => connection.unsettled.delete(running);
      connection.unsettled.add(running);
      running.then(settle, settle);
      return running;
    },
    async confirm() {
      const { count, rows } = connection.writes;
      if (pools.isDurable && count > 0 && rows === 0n) await connection.runAlone({ text: AWAIT_STANDBYS });
    },
    executeQuery: <Row>({ sql: text, parameters }: CompiledQuery) =>
      connection.execute(text, [...parameters]) as Promise<QueryResult<Row>>,
    streamQuery() {
      throw new Error('Streaming is not supported: lists are read page by page.');
    },
  };
  return connection;
}

async function executeOn(
  { session, isSharded }: Pools,
  connection: PooledConnection,
  text: string,
  values: unknown[],
): Promise<QueryResult<unknown>> {
  const { run, runAlone, isInTransaction, writes } = connection;
  const { name, isWrite, locksReferences } = describe(text);
  const locking = isSharded && isInTransaction && locksReferences ? lockReferences(connection) : undefined;
  // After an error the transaction is aborted, so no statement can be repeated within it.
  const running = isInTransaction
    ? run((client) => send(session, client, { name, text, values })).then(toResult)
    : runNamed(runAlone, text, values);
  const result = locking ? (await Promise.all([locking, running]))[1] : await running;
  writes.count += isWrite ? 1 : 0;
  writes.rows += isWrite ? (result.numAffectedRows ?? 0n) : 0n;
  if (!isInTransaction) await connection.confirm();
  return result;
}

/** Sent right before the statement, so what is sent after it reads what the other transaction has changed. */
async function lockReferences(connection: PooledConnection): Promise<void> {
  if (connection.hasReferences) return;
  connection.hasReferences = true;
  await connection.run((client) => client.query(LOCK_REFERENCES));
}

/** By executor. */
const transactions = new WeakMap<object, PooledConnection>();

/** Lets prepared queries bypass Kysely, which sends a statement of a transaction only after the result of the previous one. */
export async function pipelineTransaction(tx: Database): Promise<void> {
  const executor = tx.getExecutor();
  transactions.set(executor, (await executor.provideConnection(async (connection) => connection)) as PooledConnection);
}

export const isPipelined = (tx: Database): boolean => transactions.has(tx.getExecutor());

/** Sends the statement at once. */
export const runInTransaction = (async (query: CompiledQuery, values: unknown[], tx: Database) => {
  const connection = transactions.get(tx.getExecutor());
  return connection ? connection.execute(query.sql, values) : tx.executeQuery({ ...query, parameters: values });
}) as RunQuery;

export async function withConnection<Result>(
  pools: Pools,
  work: (connection: PooledConnection) => Promise<Result>,
): Promise<Result> {
  const connection = createConnection(pools, await connect(pools));
  try {
    return await work(connection);
  } finally {
    connection.client.release(connection.isBroken);
  }
}

/** Repeats a statement without its name if its plan is outdated: then it is planned again. */
export async function runNamed(run: Pipeline['run'], text: string, values: unknown[]): Promise<QueryResult<unknown>> {
  const result = await run({ name: describe(text).name, text, values }).catch((error) => {
    if (!(error instanceof OutdatedPlan)) throw error;
    return run({ text, values });
  });
  return toResult(result);
}

function toResult({ rows, rowCount }: pg.QueryResult): QueryResult<unknown> {
  return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
}

/** A named statement is parsed and planned once per connection. */
interface Statement {
  name: string;
  isWrite: boolean;
  locksReferences: boolean;
}

const statements = new Map<string, Statement>();
const WRITE = /^\s*(?:insert|update|delete|merge|with\b.*\b(?:insert into|update|delete from))\b/is;

function describe(text: string): Statement {
  const known = statements.get(text);
  if (known) return known;
  const statement = {
    name: sha256(text).slice(0, 24),
    isWrite: WRITE.test(text),
    locksReferences: locksReferenceTable(text),
  };
  statements.set(text, statement);
  return statement;
}
