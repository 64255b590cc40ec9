import { type Actor, recordAudit } from '../audit/entries.ts';
import { DAY, HOUR, MINUTE } from '../lib/clock.ts';
import { hashSecret, newSecret } from '../lib/secrets.ts';
import { describeUserAgent } from '../lib/user-agents.ts';
import type { SecondFactor } from '../storage/account-tables.ts';
import { batchedQuery } from '../storage/batched-query.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { retentionStep } from '../storage/retention.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { needsSecondFactor } from './second-factor-rules.ts';
import { auditedUser, type Credentials, type User, userFrom } from './users.ts';

/** A signed-in browser. `id` is the value of its cookie; only its hash is stored. */
export interface Session {
  id: string;
  user: User;
  signedInAt: number;
  /** Null if the user signed in with a password only. */
  secondFactor: SecondFactor | null;
  /** Whether that is not enough: the user has an authenticator app, or is required to have a second factor. */
  lacksSecondFactor: boolean;
}

/** A browser, by its `User-Agent`, and the IP address that it calls from. */
export interface Device {
  browser: string;
  address: string;
}

/** A new session, with the password hash that was current when it started. */
export interface SignedIn extends Credentials {
  session: Session;
}

/** A session as its user sees it in a list. */
export interface SessionSummary {
  idHash: string;
  browser: string;
  address: string;
  signedInAt: number;
  lastSeenAt: number;
}

const IDLE_LIFETIME = 12 * HOUR;
export const ABSOLUTE_LIFETIME = 30 * DAY;

/** `last_seen_at` is updated at most this often: not every page view costs a write. */
const SEEN_EVERY = MINUTE;

export async function insertSession(
  db: Database,
  { user, browser, address, secondFactor = null }: Device & { user: User; secondFactor?: SecondFactor | null },
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
      second_factor: secondFactor,
    })
    .execute();
  return { id, user, signedInAt: now, secondFactor, lacksSecondFactor: false };
}

export async function resumeSession(db: Database, id: string, now: number): Promise<Session | undefined> {
  const { rows } = await readLive(db, { idHash: hashSecret(id), now });
  const row = rows[0];
  if (!row || row.disabled_at !== null) return undefined;
  if (now - row.last_seen_at >= SEEN_EVERY) await touchSession(db, row, now);
  return {
    id,
    user: userFrom(row),
    signedInAt: row.signed_in_at,
    secondFactor: row.second_factor,
    lacksSecondFactor: row.second_factor === null && row.needs_second_factor === 1,
  };
}

/** Selects all columns of both tables: their names do not overlap. */
const readLive = batchedQuery(
  { idHash: 'text', now: 'bigint' },
  (db, { idHash, now }: { idHash: string; now: number }) =>
    db
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .selectAll()
      .select(needsSecondFactor().as('needs_second_factor'))
      .where('sessions.id_hash', '=', idHash)
      .where('sessions.expires_at', '>', now),
);

/** Keeps the session from ending before the transaction does; the lock is shared. False if the session has ended already. */
export async function lockSession(db: Database, id: string): Promise<boolean> {
  return (await readForShare(db, { idHash: hashSecret(id) })).rows.length > 0;
}

const readForShare = preparedQuery((db, { idHash }: { idHash: string }) =>
  db.selectFrom('sessions').select('id_hash').where('id_hash', '=', idHash).forKeyShare(),
);

/** The most recently used first. */
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

/** Signs a browser out. Changes nothing if the session has ended already. */
export async function endSession(
  actor: Actor,
  db: Database,
  { session: { id }, browser }: { session: Session; browser: string },
  now: number,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    if (!(await deleteSession(tx, id))) return;
    await recordSessionAudit(actor, tx, { action: 'session.ended', idHash: hashSecret(id), browser }, now);
  });
}

/** Ends another session of the same user. False if there is none with this hash. */
export async function endOtherSession(
  actor: Actor,
  db: Database,
  { session, idHash }: { session: Session; idHash: string },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const row = await deleteOthers(tx, session).where('id_hash', '=', idHash).returningAll().executeTakeFirst();
    if (row) await recordSessionAudit(actor, tx, { action: 'session.ended', idHash, browser: row.browser }, now);
    return row !== undefined;
  });
}

/** Signs the user out everywhere but in this session. */
export async function endOtherSessions(actor: Actor, db: Database, session: Session, now: number): Promise<void> {
  await inTransaction(db, async (tx) => {
    const ended = await deleteOtherSessions(tx, session);
    if (ended === 0) return;
    const subject = auditedUser(session.user);
    const entry = { action: 'session.others_ended', actor, businessId: null, subject } as const;
    await recordAudit(tx, { ...entry, detail: { sessions: String(ended) } }, now);
  });
}

/** The user has verified a second factor in this session. */
export async function markSecondFactor(db: Database, id: string, factor: SecondFactor): Promise<void> {
  const update = db.updateTable('sessions').set({ second_factor: factor });
  await update.where('id_hash', '=', hashSecret(id)).execute();
}

export async function deleteSession(db: Database, id: string): Promise<boolean> {
  const deletion = db.deleteFrom('sessions').where('id_hash', '=', hashSecret(id));
  return (await deletion.executeTakeFirstOrThrow()).numDeletedRows > 0n;
}

export async function deleteOtherSessions(db: Database, session: Session): Promise<number> {
  return Number((await deleteOthers(db, session).executeTakeFirstOrThrow()).numDeletedRows);
}

function deleteOthers(db: Database, session: Session) {
  return db
    .deleteFrom('sessions')
    .where('user_id', '=', session.user.id)
    .where('id_hash', '!=', hashSecret(session.id));
}

export interface SessionEntry {
  action: 'session.started' | 'session.ended';
  idHash: string;
  browser: string;
  detail?: Record<string, string>;
}

export async function recordSessionAudit(
  actor: Actor,
  db: Database,
  { action, idHash, browser, detail = {} }: SessionEntry,
  now: number,
): Promise<void> {
  const subject = sessionSubject({ idHash, browser });
  await recordAudit(db, { action, actor, businessId: null, subject, detail }, now);
}

export function sessionSubject({ idHash, browser }: Pick<SessionEntry, 'idHash' | 'browser'>) {
  return { kind: 'session', id: idHash, name: describeUserAgent(browser) } as const;
}

export async function endSessionsOfUser(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('sessions').where('user_id', '=', userId).execute();
}

/** Returns the number of sessions, of all users. */
export async function endAllSessions(db: Database): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('sessions').executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export const expiredSessions = retentionStep('sessions', ['id_hash'], 'expires_at', (now) => now);

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
