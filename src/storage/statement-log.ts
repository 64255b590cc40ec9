import { channel } from 'node:diagnostics_channel';
import type { LogEvent } from 'kysely';

/** An executed statement, without its parameters. */
export interface ExecutedStatement {
  sql: string;
  /** In milliseconds. */
  took: number;
  failed: boolean;
}

const statements = channel('gatehouse.statement');

/** Calls `listen` for every statement of databases that are opened from now on. Returns an unsubscribe function. */
export function watchStatements(listen: (statement: ExecutedStatement) => void): () => void {
  const listener = (message: unknown) => listen(message as ExecutedStatement);
  statements.subscribe(listener);
  return () => statements.unsubscribe(listener);
}

export function areStatementsWatched(): boolean {
  return statements.hasSubscribers;
}

/** Kysely's log option. Empty without subscribers, so that logging costs nothing. */
export function statementLog(): { log?: (event: LogEvent) => void } {
  if (!areStatementsWatched()) return {};
  return {
    log: ({ level, query, queryDurationMillis }) =>
      statements.publish({ sql: query.sql, took: queryDurationMillis, failed: level === 'error' }),
  };
}
