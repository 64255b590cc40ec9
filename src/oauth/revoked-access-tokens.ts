import type { Database } from '../storage/storage.ts';
import type { OpenedToken } from './tokens.ts';

/** The few access tokens that were ended before their hour was over, each forgotten once it is. */
export async function revokeAccessToken(db: Database, { grantId, rotation, expiresAt }: OpenedToken): Promise<void> {
  await db
    .insertInto('revoked_access_tokens')
    .values({ grant_id: grantId, rotation, expires_at: expiresAt })
    // After a healed rotation there may be two of the same number: the record lasts as long as the longer-lived.
    .onConflict((conflict) =>
      conflict
        .columns(['grant_id', 'rotation'])
        .doUpdateSet({ expires_at: expiresAt })
        .where('revoked_access_tokens.expires_at', '<', expiresAt),
    )
    .execute();
}

export async function removeExpiredRevocations(db: Database, limit: number, now: number): Promise<number> {
  const expired = db
    .selectFrom('revoked_access_tokens')
    .select(['grant_id', 'rotation'])
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit);
  const result = await db
    .deleteFrom('revoked_access_tokens')
    .where(({ eb, refTuple }) => eb(refTuple('grant_id', 'rotation'), 'in', expired.$asTuple('grant_id', 'rotation')))
    .where('expires_at', '<=', now)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}
