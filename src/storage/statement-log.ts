import { channel } from 'node:diagnostics_channel';
import type { LogEvent } from 'kysely';

/** A statement that was carried out: its text, and never a value that went with it. */
export interface SeenStatement {
  sql: string;
  /** In milliseconds. */
  took: number;
  failed: boolean;
}

const statements = channel('gatehouse.statement');

/** Calls back for every statement of the databases that are opened from now on. Returns how to stop. */
export function watchStatements(see: (statement: SeenStatement) => void): () => void {
  const listener = (message: unknown) => see(message as SeenStatement);
  statements.subscribe(listener);
  return () => statements.unsubscribe(listener);
}

export function areStatementsWatched(): boolean {
  return statements.hasSubscribers;
}

/** Nothing, unless someone watches when the database is opened: then nobody pays for it who does not want it. */
export function statementLog(): { log?: (event: LogEvent) => void } {
  if (!areStatementsWatched()) return {};
  return {
    log: ({ level, query, queryDurationMillis }) =>
      statements.publish({ sql: query.sql, took: queryDurationMillis, failed: level === 'error' }),
  };
}
