import { DAY, MINUTE } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { decodeSigned, encodeSigned, type Keyring } from '../lib/keyring.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';

/** What an authenticator has to sign. The browser carries it, signed by us, so nothing is stored before the response. */
export interface Challenge {
  id: string;
  /** The browser or session that it was issued to; a response from another one is rejected. */
  boundTo: string;
  issuedAt: number;
}

/** A response to one kind is not valid for the other. */
export type ChallengePurpose = 'passkey to add' | 'passkey to sign in';

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
