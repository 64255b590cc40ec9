import { hashSecret, newReadableCode } from '../lib/secrets.ts';
import type { Database } from '../storage/storage.ts';

/** How many a user gets. */
const RECOVERY_CODES = 10;

/** Replaces all codes of the user. The codes are shown once; only their hashes are stored. */
export async function replaceRecoveryCodes(db: Database, userId: string): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, newReadableCode);
  await deleteRecoveryCodes(db, userId);
  const rows = codes.map((code) => ({ user_id: userId, code_hash: hashCode(userId, code) }));
  await db.insertInto('recovery_codes').values(rows).execute();
  return codes;
}

/** Atomic: the row is deleted by one caller only. */
export async function useRecoveryCode(
  db: Database,
  { userId, code }: { userId: string; code: string },
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', userId)
    .where('code_hash', '=', hashCode(userId, code))
    .executeTakeFirstOrThrow();
  return numDeletedRows === 1n;
}

export async function countRecoveryCodes(db: Database, userId: string): Promise<number> {
  const { codes } = await db
    .selectFrom('recovery_codes')
    .select(({ fn }) => fn.countAll().as('codes'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return Number(codes);
}

export async function deleteRecoveryCodes(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute();
}

/** People may type spaces, capital letters, and O or I for the digits that look like them. */
function hashCode(userId: string, code: string): string {
  const typed = code.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  return hashSecret(`${userId} ${typed.replaceAll('o', '0').replaceAll(/[il]/g, '1')}`);
}
