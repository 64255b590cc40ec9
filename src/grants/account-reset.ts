import { deletePasskeysOfUser } from '../accounts/passkeys.ts';
import { endSessionsOfUser } from '../accounts/sessions.ts';
import { setPasswordHash } from '../accounts/users.ts';
import type { Database } from '../storage/storage.ts';
import { forgetConsentsOfUser } from './consents.ts';
import { revokeGrantsOfUser } from './grants.ts';

interface Reset {
  userId: string;
  hash: string;
  /** Whether apps lose their access, too. */
  endsGrants: boolean;
}

/**
 * Sets a new password and removes every other way into the account: sessions, passkeys, and known browsers, whose cookies
 * are bound to the password. Needs a transaction.
 */
export async function resetAccount(db: Database, { userId, hash, endsGrants }: Reset, now: number): Promise<void> {
  // First, since it locks the row of the user: a passkey that is being added is either removed below or rejected.
  await setPasswordHash(db, userId, hash);
  await deletePasskeysOfUser(db, userId);
  await endSessionsOfUser(db, userId);
  if (!endsGrants) return;
  // In this order: a grant that relies on a consent is either found below, or waits and finds no consent.
  await forgetConsentsOfUser(db, userId);
  await revokeGrantsOfUser(db, { userId, reason: 'password_reset' }, now);
}
