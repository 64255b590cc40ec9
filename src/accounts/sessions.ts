import { DAY, HOUR, MINUTE } from '../lib/clock.ts';
import { hashSecret, newSecret } from '../lib/secrets.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { type User, userFrom } from './users.ts';

/** A signed-in browser. `id` is what its cookie holds; only its hash is stored. */
export interface Session {
  id: string;
  user: User;
  signedInAt: number;
}

/** What a user sees of a session, on this browser or another. */
export interface SessionSummary {
  idHash: string;
  browser: string;
  address: string;
  signedInAt: number;
  lastSeenAt: number;
}

const IDLE_LIFETIME = 12 * HOUR;
export const ABSOLUTE_LIFETIME = 30 * DAY;

/** Being seen is written down at most this often: a page view should not cost a write. */
const SEEN_EVERY = MINUTE;

export async function insertSession(
  db: Database,
  { user, browser, address }: { user: User; browser: string; address: string },
  now: number,
): Promise<Session> {
  const id = newSecret();
  await db
    .insertInto('sessions')
    .values({
      id_hash: hashSecret(id),
      user_id: user.id,
      browser: browser.slice(0, 200),
      address,
      signed_in_at: now,
      last_seen_at: now,
      expires_at: now + IDLE_LIFETIME,
    })
    .execute();
  return { id, user, signedInAt: now };
}

export async function resumeSession(db: Database, id: string, now: number): Promise<Session | undefined> {
  const { rows } = await readLive(db, { idHash: hashSecret(id), now });
  const row = rows[0];
  if (!row || row.disabled_at !== null) return undefined;
  if (now - row.last_seen_at >= SEEN_EVERY) await touchSession(db, row, now);
  return { id, user: userFrom(row), signedInAt: row.signed_in_at };
}

/** With the user whose it is: no column of one has the name of a column of the other. */
const readLive = preparedQuery((db, { idHash, now }: { idHash: string; now: number }) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .selectAll()
    .where('sessions.id_hash', '=', idHash)
    .where('sessions.expires_at', '>', now),
);

/**
 * In a transaction: until it is over, the session cannot end. False if it has ended already. The lock is shared, so that
 * requests of one session do not wait for each other.
 */
export async function lockSession(db: Database, id: string): Promise<boolean> {
  return (await readForShare(db, { idHash: hashSecret(id) })).rows.length > 0;
}

const readForShare = preparedQuery((db, { idHash }: { idHash: string }) =>
  db.selectFrom('sessions').select('id_hash').where('id_hash', '=', idHash).forKeyShare(),
);

/** Those seen last come first, and only so many. */
export async function listSessions(
  db: Database,
  { userId, limit }: { userId: string; limit: number },
  now: number,
): Promise<SessionSummary[]> {
  const rows = await db
    .selectFrom('sessions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .orderBy('last_seen_at', 'desc')
    .orderBy('id_hash')
    .limit(limit)
    .execute();
  return rows.map(summaryOf);
}

export async function countSessions(db: Database, userId: string, now: number): Promise<number> {
  const { sessions } = await db
    .selectFrom('sessions')
    .select(({ fn }) => fn.countAll().as('sessions'))
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  return Number(sessions);
}

/** False if it has ended already. */
export async function deleteSession(db: Database, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('sessions')
    .where('id_hash', '=', hashSecret(id))
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** Another session of the same user: what was ended, or undefined if there is none such. */
export async function deleteOtherSession(
  db: Database,
  session: Session,
  idHash: string,
): Promise<SessionSummary | undefined> {
  const row = await deleteOthers(db, session).where('id_hash', '=', idHash).returningAll().executeTakeFirst();
  return row && summaryOf(row);
}

/** Says how many there were. */
export async function deleteOtherSessions(db: Database, session: Session): Promise<number> {
  const { numDeletedRows } = await deleteOthers(db, session).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

function deleteOthers(db: Database, session: Session) {
  return db
    .deleteFrom('sessions')
    .where('user_id', '=', session.user.id)
    .where('id_hash', '!=', hashSecret(session.id));
}

export async function endSessionsOfUser(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('sessions').where('user_id', '=', userId).execute();
}

/** Everyone's. Says how many there were. */
export async function endAllSessions(db: Database): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('sessions').executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export async function removeExpiredSessions(db: Database, limit: number, now: number): Promise<number> {
  const expired = db
    .selectFrom('sessions')
    .select('id_hash')
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit);
  const result = await db
    .deleteFrom('sessions')
    .where('id_hash', 'in', expired)
    .where('expires_at', '<=', now)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

function summaryOf(row: Row<'sessions'>): SessionSummary {
  return {
    idHash: row.id_hash,
    browser: row.browser,
    address: row.address,
    signedInAt: row.signed_in_at,
    lastSeenAt: row.last_seen_at,
  };
}

async function touchSession(db: Database, row: Row<'sessions'>, now: number): Promise<void> {
  const expires_at = Math.min(now + IDLE_LIFETIME, row.signed_in_at + ABSOLUTE_LIFETIME);
  await db.updateTable('sessions').set({ last_seen_at: now, expires_at }).where('id_hash', '=', row.id_hash).execute();
}
