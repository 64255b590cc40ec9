import type pg from 'pg';
import { SECOND } from '../../lib/clock.ts';
import type { TimeoutProfile } from '../storage.ts';
import { runDescribed } from './named-statement.ts';
import type { PostgresTarget } from './url.ts';

const LOCK_TIMEOUT = 2 * SECOND;
export const IDLE_TIMEOUT = 'idle_in_transaction_session_timeout';
/** As PostgreSQL shows it. */
export const IDLE_LIMIT = '10s';

/** For SSDs. With the default, which assumes a spinning disk, PostgreSQL scans all apps rather than look one up. */
const RANDOM_PAGE_COST = { random_page_cost: '1.1' };

export interface SessionOptions {
  /** `synchronous_commit` */
  commit: 'on' | 'off';
  /** How long a statement waits for a lock, in milliseconds. */
  lockTimeout?: number;
  readsOnly?: boolean;
}

/** How connections get their settings. Behind a pooler each transaction may run in another session of PostgreSQL. */
export interface Session {
  /** In the startup packet; undefined behind a pooler, which would reject or ignore them. */
  options: string | undefined;
  /** Begins a transaction, with its settings if the session has none. */
  begin: string;
  /** Whether a statement outside of a transaction needs one, for its settings. */
  wrapsStatements: boolean;
  namesStatements: boolean;
}

export function createSession(
  { pooler, namesStatements }: PostgresTarget,
  timeouts: TimeoutProfile,
  { commit, lockTimeout = LOCK_TIMEOUT, readsOnly = false }: SessionOptions,
): Session {
  const isServing = timeouts === 'serving';
  const limits = isServing && {
    statement_timeout: String(3 * SECOND),
    [IDLE_TIMEOUT]: String(10 * SECOND),
    lock_timeout: String(lockTimeout),
  };
  const settings = Object.entries({ synchronous_commit: commit, ...RANDOM_PAGE_COST, ...limits });
  if (pooler === 'none') {
    const options = settings.map(([name, value]) => `-c ${name}=${value}`).join(' ');
    return { options, begin: 'begin', wrapsStatements: false, namesStatements };
  }
  const begin = ['begin', ...settings.map(([name, value]) => `set local ${name} = ${value}`)].join('; ');
  // A migration has statements that cannot run in a transaction.
  return { options: undefined, begin, wrapsStatements: isServing && !readsOnly, namesStatements };
}

/** A statement of a transaction. */
export function send(session: Session, client: pg.ClientBase, query: pg.QueryConfig): Promise<pg.QueryResult> {
  const { name, text, values = [] } = query;
  if (!session.namesStatements || name === undefined) return client.query(text, values);
  return runDescribed(client, { name, text, values });
}

/** A statement outside of a transaction: one round trip in any case. */
export async function sendAlone(
  session: Session,
  client: pg.ClientBase,
  query: pg.QueryConfig,
): Promise<pg.QueryResult> {
  if (!session.wrapsStatements) return send(session, client, query);
  // If this fails, the statement does, too.
  client.query(session.begin).catch(() => {});
  const [result] = await Promise.all([send(session, client, query), client.query('commit')]);
  return result;
}
