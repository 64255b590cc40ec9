/**
 * Citus locks a reference table as a whole, and in two steps: two transactions that have taken the first would each wait for
 * the other. So before a transaction first locks or changes rows of one, it waits here for the transaction that has done so.
 */
export const LOCK_REFERENCES = 'select pg_advisory_xact_lock(7239146)';

/** The reference tables of deploy/citus.sql. */
const REFERENCE = '"(?:businesses|users|memberships|apps)"';
const CHANGE = `(?:insert into|update|delete from) ${REFERENCE}`;
const LOCK = `select\\b.* from ${REFERENCE}.* for (?:no key update|update|key share|share)(?: of ${REFERENCE})?`;
const EITHER = new RegExp(`^(?:${CHANGE}|${LOCK}$)`, 's');

export const locksReferenceTable = (sql: string): boolean => EITHER.test(sql);
