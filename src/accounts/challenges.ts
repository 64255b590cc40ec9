import { DAY, MINUTE } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { decodeSigned, encodeSigned, type Keyring } from '../lib/keyring.ts';
import type { Database } from '../storage/storage.ts';

/** What an authenticator is asked to sign. It travels through the browser, sealed, so that nothing is kept before the answer. */
export interface Challenge {
  id: string;
  /** Whose question this is; an answer out of another browser, or session, does not count. */
  boundTo: string;
  issuedAt: number;
}

/** What is signed to add a passkey signs nobody in, and the other way round. */
export type ChallengePurpose = 'passkey to add' | 'passkey to sign in';

const LIFETIME = 5 * MINUTE;

/** Much longer than an answer counts, since the clocks of two nodes may differ, and one may be moved on and back. */
const REMEMBER_FOR = DAY;

export function createChallenge(keys: Keyring, purpose: ChallengePurpose, bearer: string, now: number): string {
  const challenge: Challenge = { id: newId(now), boundTo: bearer, issuedAt: now };
  return encodeSigned(keys, purpose, challenge);
}

/** Undefined if we never asked this, asked it of someone else, or asked it too long ago. */
export function readChallenge(
  keys: Keyring,
  { purpose, bearer, sealed }: { purpose: ChallengePurpose; bearer: string; sealed: string },
  now: number,
): Challenge | undefined {
  const challenge = decodeSigned<Challenge>(keys, purpose, sealed);
  if (challenge?.boundTo !== bearer || now - challenge.issuedAt >= LIFETIME) return undefined;
  return challenge;
}

/** True for exactly one caller: an answer that was overheard is no use a second time. */
export async function spendChallenge(db: Database, { id, issuedAt: askedAt }: Challenge): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('used_challenges')
    .values({ id, expires_at: askedAt + REMEMBER_FOR })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

export async function removeSpentChallenges(db: Database, limit: number, now: number): Promise<number> {
  const expired = db
    .selectFrom('used_challenges')
    .select('id')
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit);
  const result = await db.deleteFrom('used_challenges').where('id', 'in', expired).executeTakeFirst();
  return Number(result.numDeletedRows);
}
