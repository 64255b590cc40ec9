import { type Actor, recordAudit } from '../audit/entries.ts';
import { DAY, MINUTE } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { isId, newId } from '../lib/ids.ts';
import { decodeSigned, encodeSigned, type Keyring } from '../lib/keyring.ts';
import { readName } from '../lib/names.ts';
import { retentionStep } from '../storage/retention.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { findAuthenticatorApp } from './authenticator-apps.ts';
import { notify } from './notices.ts';
import { markSecondFactor, resumeSession, type Session } from './sessions.ts';
import { lockUser, recordUserAudit, type User } from './users.ts';

/** A WebAuthn credential of a user, which signs in without a password. */
export interface Passkey {
  id: string;
  userId: string;
  name: string;
  createdAt: number;
  lastUsedAt: number | null;
  credential: Credential;
}

/** The key as its authenticator described it. */
export interface Credential {
  /** The credential id, in base64url. */
  id: string;
  publicKey: Uint8Array<ArrayBuffer>;
  /** The signature counter; 0 if the authenticator has none. */
  counter: number;
  transports: string[];
}

interface NewPasskey {
  userId: string;
  name: string;
  credential: Credential;
}

/** All of them fit on one page. */
const MAX_PASSKEYS = 20;

interface PasskeyRegistration {
  session: Session;
  name: string;
  credential: Credential;
  challenge: Challenge;
}

/**
 * False if the session has ended, or has not verified the second factor that the user has. That the sign-in was recent
 * was checked when this session got the challenge.
 */
export async function addPasskey(
  actor: Actor,
  db: Database,
  { session: { id, user }, name, credential, challenge }: PasskeyRegistration,
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    // Locks the user: an earlier password reset has ended this session, and a later one removes this passkey.
    await lockUser(tx, user.id);
    const live = await resumeSession(tx, id, now);
    if (!live || (live.lacksSecondFactor && (await hasFactor(tx, user.id)))) return false;
    if (!(await spendChallenge(tx, challenge))) throw passkeyNotAdded();
    const passkey = await insertPasskey(tx, { userId: user.id, name, credential }, now);
    if (!passkey) throw passkeyNotAdded();
    await markSecondFactor(tx, id, 'passkey');
    await recordPasskeyAudit(actor, tx, { action: 'passkey.added', passkey }, now);
    await notify(tx, [user.id], { kind: 'factor_added', values: { passkey: passkey.name } }, now);
    return true;
  });
}

async function hasFactor(db: Database, userId: string): Promise<boolean> {
  return (await listPasskeys(db, userId)).length > 0 || (await findAuthenticatorApp(db, userId)) !== undefined;
}

export function passkeyNotAdded(): FormError {
  return new FormError('passkey', 'This passkey could not be added. Try again, perhaps with another device.');
}

/** Returns how many there were. */
export async function removeAllPasskeys(actor: Actor, db: Database, user: User, now: number): Promise<number> {
  return inTransaction(db, async (tx) => {
    const removed = await deletePasskeysOfUser(tx, user.id);
    if (removed === 0) return 0;
    await recordUserAudit(actor, tx, { action: 'passkey.all_removed', user }, now);
    const values = { factor: 'all_passkeys', passkey: '', by: 'operator' } as const;
    await notify(tx, [user.id], { kind: 'factor_removed', values }, now);
    return removed;
  });
}

/** Undefined if the credential is known already, or if the user has the maximum. Needs a transaction in which the user is locked. */
export async function insertPasskey(db: Database, passkey: NewPasskey, now: number): Promise<Passkey | undefined> {
  const { userId, name, credential } = passkey;
  if ((await listPasskeys(db, userId)).length >= MAX_PASSKEYS) return undefined;
  const row = {
    id: newId(now),
    credential_id: credential.id,
    user_id: userId,
    name: readName('passkey_name', name),
    public_key: credential.publicKey,
    counter: credential.counter,
    transports: JSON.stringify(credential.transports),
    created_at: now,
    last_used_at: null,
  };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('passkeys')
    .values(row)
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows ? fromRow(row) : undefined;
}

export async function listPasskeys(db: Database, userId: string): Promise<Passkey[]> {
  const rows = await db.selectFrom('passkeys').selectAll().where('user_id', '=', userId).orderBy('id').execute();
  return rows.map(fromRow);
}

export async function findPasskey(db: Database, credentialId: string): Promise<Passkey | undefined> {
  // PostgreSQL rejects a parameter with a NUL.
  if (!/^[\w-]+$/.test(credentialId)) return undefined;
  const row = await db.selectFrom('passkeys').selectAll().where('credential_id', '=', credentialId).executeTakeFirst();
  return row && fromRow(row);
}

/**
 * False if the passkey has been removed, or if its counter did not increase: then the authenticator may have been cloned
 * (WebAuthn §6.1.1). An authenticator without a counter always sends 0.
 */
export async function usePasskey(db: Database, id: string, counter: number, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('passkeys')
    .set({ counter, last_used_at: now })
    .where('id', '=', id)
    .where('counter', counter === 0 ? '=' : '<', counter)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

export async function deletePasskey(db: Database, userId: string, id: string): Promise<Passkey | undefined> {
  if (!isId(id)) return undefined;
  const row = await db
    .deleteFrom('passkeys')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .returningAll()
    .executeTakeFirst();
  return row && fromRow(row);
}

export async function deletePasskeysOfUser(db: Database, userId: string): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('passkeys').where('user_id', '=', userId).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

interface PasskeyEntry {
  action: 'passkey.added' | 'passkey.removed';
  passkey: Passkey;
}

export async function recordPasskeyAudit(
  actor: Actor,
  db: Database,
  { action, passkey: { id, name } }: PasskeyEntry,
  now: number,
): Promise<void> {
  const subject = { kind: 'passkey', id, name } as const;
  await recordAudit(db, { action, actor, businessId: null, subject }, now);
}

function fromRow(row: Row<'passkeys'>): Passkey {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    credential: {
      id: row.credential_id,
      publicKey: new Uint8Array(row.public_key),
      counter: row.counter,
      transports: JSON.parse(row.transports),
    },
  };
}

/** What an authenticator has to sign. The browser carries it, signed by us, so nothing is stored before the response. */
export interface Challenge {
  id: string;
  /** The browser or session that it was issued to; a response from another one is rejected. */
  boundTo: string;
  issuedAt: number;
}

/** A response to one kind is not valid for another. */
export type ChallengePurpose = 'passkey to add' | 'passkey to sign in' | 'passkey to confirm';

const LIFETIME = 5 * MINUTE;

/** Much longer than its lifetime: the clocks of two nodes may differ, and a clock may be set back. */
const REMEMBER_FOR = DAY;

export function createChallenge(keys: Keyring, purpose: ChallengePurpose, boundTo: string, now: number): string {
  const challenge: Challenge = { id: newId(now), boundTo, issuedAt: now };
  return encodeSigned(keys, purpose, challenge);
}

/** Undefined if it was not issued by us, was issued to another browser or session, or has expired. */
export function readChallenge(
  keys: Keyring,
  { purpose, boundTo, text }: { purpose: ChallengePurpose; boundTo: string; text: string },
  now: number,
): Challenge | undefined {
  const challenge = decodeSigned<Challenge>(keys, purpose, text);
  if (challenge?.boundTo !== boundTo || now - challenge.issuedAt >= LIFETIME) return undefined;
  return challenge;
}

/** Atomic: succeeds once, so a recorded response cannot be replayed. */
export async function spendChallenge(db: Database, { id, issuedAt }: Challenge): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('used_challenges')
    .values({ id, expires_at: issuedAt + REMEMBER_FOR })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

export const expiredChallenges = retentionStep('used_challenges', ['id'], 'expires_at', (now) => now);
