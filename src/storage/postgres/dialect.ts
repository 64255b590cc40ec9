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
import { OutdatedPlan, StorageUnavailable } from '../storage.ts';
import type { Pipeline } from './pipeline.ts';
import { connect, outdatePlans, type Pools, translateError } from './pools.ts';

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
    async beginTransaction(connection) {
      const pooled = connection as PooledConnection;
      pooled.isInTransaction = true;
      await pooled.run('begin');
    },
    async commitTransaction(connection) {
      await (connection as PooledConnection).run('commit');
    },
    // A broken connection is closed, and the server rolls back.
    async rollbackTransaction(connection) {
      const pooled = connection as PooledConnection;
      if (!pooled.isBroken) await pooled.run('rollback');
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
  run(query: string | pg.QueryConfig): Promise<pg.QueryResult>;
  execute: Execute;
}

export type Execute = (text: string, values: unknown[]) => Promise<QueryResult<unknown>>;

function createConnection(pools: Pools, client: pg.PoolClient): PooledConnection {
  const connection: PooledConnection = {
    client,
    isBroken: false,
    isInTransaction: false,
    async run(query) {
      try {
        return await client.query(query);
      } catch (error) {
        const translated = translateError(error);
        if (translated instanceof StorageUnavailable) connection.isBroken = true;
        if (translated instanceof OutdatedPlan) outdatePlans(pools, client);
        throw translated;
      }
    },
    async execute(text, values) {
      const { run, isInTransaction } = connection;
      // After an error the transaction is aborted, so no statement can be repeated within it.
      if (isInTransaction) return toResult(await run({ name: nameOf(text), text, values }));
      return runNamed(run, text, values);
    },
    executeQuery: <Row>({ sql: text, parameters }: CompiledQuery) =>
      connection.execute(text, [...parameters]) as Promise<QueryResult<Row>>,
    streamQuery() {
      throw new Error('Streaming is not supported: lists are read page by page.');
    },
  };
  return connection;
}

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
  const result = await run({ name: nameOf(text), text, values }).catch((error) => {
    if (!(error instanceof OutdatedPlan)) throw error;
    return run({ text, values });
  });
  return toResult(result);
}

function toResult({ rows, rowCount }: pg.QueryResult): QueryResult<unknown> {
  return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
}

/** A named statement is parsed and planned once per connection. */
const names = new Map<string, string>();

function nameOf(text: string): string {
  const known = names.get(text);
  if (known) return known;
  const name = sha256(text).slice(0, 24);
  names.set(text, name);
  return name;
}
