import type { Compilable, CompiledQuery } from 'kysely';
import { areStatementsWatched } from './statement-log.ts';
import type { Database } from './storage.ts';

interface Result<Row> {
  rows: Row[];
  numAffectedRows?: bigint;
}

/**
 * Compiles a query once per database and runs it with other values from then on: 1.3 µs instead of 37. `build` receives
 * placeholders, so it must pass each value to the query as it is, and cannot compute with it or decide by it.
 */
export function preparedQuery<Values extends object, Row>(
  build: (db: Database, values: Values) => Compilable<Row>,
): (db: Database, values: Values) => Promise<Result<Row>> {
  const statements = new WeakMap<object, Statement<Values, Row>>();
  const compileFor = (db: Database, adapter: object) => {
    const statement = compile(db, build);
    statements.set(adapter, statement);
    return statement;
  };
  return (db, values) => {
    // A database and its transactions share one adapter.
    const { adapter } = db.getExecutor();
    const { query, bind } = statements.get(adapter) ?? compileFor(db, adapter);
    const runner = runners.get(adapter);
    const run = db.isTransaction ? runner?.inTransaction : runner?.alone;
    return run ? run<Row>(query, bind(values), db) : db.executeQuery({ ...query, parameters: bind(values) });
  };
}

export type RunQuery = <Row>(query: CompiledQuery, values: unknown[], db: Database) => Promise<Result<Row>>;

/** Runs compiled queries on the connection itself, without the work that Kysely does around each. */
interface Runner {
  alone: RunQuery;
  inTransaction?: RunQuery;
  /** For engines that can execute a statement before the client has the result of the previous one. */
  pipelines?: {
    /** Called when a transaction begins. */
    begin(tx: Database): Promise<void>;
    includes(tx: Database): boolean;
    /** Whether a statement can contain several writes, or the reads of several requests. */
    combinesStatements(): boolean;
    /** Statements that are sent at the end of this event loop iteration do not wait for the next. */
    scheduleSend(): void;
  };
}

const runners = new WeakMap<object, Runner>();

/** Without a runner, or while statements are watched, prepared queries run through Kysely. */
export function setRunner(db: Database, runner: Runner): void {
  if (!areStatementsWatched()) runners.set(db.getExecutor().adapter, runner);
}

/** Undefined if the engine has none, or while statements are watched. */
export function pipelinesOf(db: Database): Runner['pipelines'] {
  return runners.get(db.getExecutor().adapter)?.pipelines;
}

interface Statement<Values, Row> {
  query: CompiledQuery<Row>;
  bind(values: Values): unknown[];
}

function compile<Values extends object, Row>(
  db: Database,
  build: (db: Database, values: Values) => Compilable<Row>,
): Statement<Values, Row> {
  const names = new Map<unknown, keyof Values>();
  const placeholders = new Proxy({} as Values, {
    get(_, name) {
      const placeholder = createPlaceholder(String(name));
      names.set(placeholder, name as keyof Values);
      return placeholder;
    },
  });
  const query = build(db, placeholders).compile();
  const slots = query.parameters.map((value) => ({ value, name: names.get(value) }));
  return {
    query,
    bind: (values) => slots.map(({ value, name }) => (name === undefined ? value : values[name])),
  };
}

/** Throws where it is used as a text or number: the result would be the same for every call. */
function createPlaceholder(name: string): object {
  const fail = () => {
    throw new Error(`A prepared query computes with its value "${name}", which is not known when it is compiled.`);
  };
  return { [Symbol.toPrimitive]: fail, toJSON: fail };
}
