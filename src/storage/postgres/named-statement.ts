import pg from 'pg';

/** Times and rotations are safe integers, so `bigint` columns are read as numbers. */
export const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text');

interface Column {
  name: string;
  parse(text: string): unknown;
}

/** By the names of the statements. Only of connections whose statements all run in the same session of PostgreSQL. */
const columnsOn = new WeakMap<pg.ClientBase, Map<string, Column[]>>();

/** The connection is one to PostgreSQL itself: behind a pooler each execution may run in another session. */
export function keepDescriptions(client: pg.ClientBase): void {
  columnsOn.set(client, new Map());
}

type NamedQuery = Required<Pick<pg.QueryConfig, 'name' | 'text' | 'values'>>;

/**
 * Runs a named statement, whose columns are described once per connection. pg has them described with each execution: a
 * fifth of the CPU time of a node. They cannot change within a session, since PostgreSQL rejects the statement then.
 */
export async function runDescribed(client: pg.ClientBase, query: NamedQuery): Promise<pg.QueryResult> {
  const known = columnsOn.get(client);
  const columns = known?.get(query.name);
  // Before anything is sent: pg forgets neither the name nor the timeout of a statement whose values it cannot convert.
  const values = query.values.map((value) => prepareValue(value));
  if (columns) return runUndescribed(client, { ...query, values }, columns);
  const result = await client.query({ ...query, values });
  known?.set(query.name, result.fields.map(toColumn));
  return result;
}

function toColumn({ name, dataTypeID }: pg.FieldDef): Column {
  return { name, parse: getTypeParser(dataTypeID) };
}

/** What pg's `Query` has beyond its types: it writes the messages of a statement, and receives those of the server. */
interface QueryMessages extends pg.Submittable {
  name: string;
  prepare(connection: pg.Connection): void;
  handleDataRow(message: { fields: (string | null)[] }): void;
}

type Callback = (error: Error | null, result: pg.QueryResult) => void;

const Query = pg.Query as unknown as new (text: string, values: unknown[], callback: Callback) => QueryMessages;

/** How pg itself converts parameters. */
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): string | Buffer | null } }).utils;

function runUndescribed(client: pg.ClientBase, { name, text, values }: NamedQuery, columns: Column[]) {
  return new Promise<pg.QueryResult>((resolve, reject) => {
    const rows: object[] = [];
    let unreadable: Error | undefined;
    const query = new Query(text, values, (failure, result) => {
      const error = failure ?? unreadable;
      if (error) reject(error);
      else resolve({ ...result, rows });
    });
    query.name = name;
    query.prepare = (connection) => {
      connection.bind({ statement: name, values }, true);
      connection.execute(null, true);
      connection.sync();
    };
    // The rest of the response has to be read as well: the next one on the connection is that of another statement.
    query.handleDataRow = ({ fields }) => {
      try {
        rows.push(toRow(columns, fields));
      } catch (error) {
        unreadable ??= error as Error;
      }
    };
    client.query(query);
  });
}

function toRow(columns: Column[], texts: (string | null)[]): object {
  const row: Record<string, unknown> = {};
  for (let i = 0; i < columns.length; i++) {
    const { name, parse } = columns[i] as Column;
    const text = texts[i] ?? null;
    row[name] = text === null ? null : parse(text);
  }
  return row;
}
