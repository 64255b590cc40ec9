import pg from 'pg';
import { StorageUnavailable } from '../errors.ts';

/** SQLSTATEs that speak of the server and not of the statement: connection, resources, operator, system, locks, plans. */
const UNAVAILABLE = /^(08|53|57|58|40|55P03|25006|0A000)/;

/** What the server did not say itself never reached it, or never came back: a broken connection, a time limit. */
export function translate(error: unknown): unknown {
  if (error instanceof StorageUnavailable) return error;
  if (error instanceof pg.DatabaseError && !UNAVAILABLE.test(error.code ?? '')) return error;
  return new StorageUnavailable('PostgreSQL is not available.', { cause: error });
}

/** Another transaction holds the lock for longer than `lock_timeout`. The statement changed nothing. */
export function isLockTimeout(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof pg.DatabaseError && cause.code === '55P03';
}

/** The plan is older than a column that an upgrade has added: asked without its name, it is made anew. */
export function isOutdatedPlan(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof pg.DatabaseError && cause.code === '0A000';
}
