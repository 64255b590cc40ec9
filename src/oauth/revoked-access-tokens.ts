import { DAY } from '../lib/clock.ts';
import type { Database } from '../storage/storage.ts';
import type { DecodedToken } from './tokens.ts';

/** Much longer than a token lives: were the clock moved on and back again, what was revoked must not live again. */
const KEPT_FOR = DAY;

/** The few access tokens that were ended before their hour was over, each forgotten a day after it is. */
export async function revokeAccessToken(db: Database, { grantId, rotation, expiresAt }: DecodedToken): Promise<void> {
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
    .where('expires_at', '<=', now - KEPT_FOR)
    .orderBy('expires_at')
    .limit(limit);
  const result = await db
    .deleteFrom('revoked_access_tokens')
    .where(({ eb, refTuple }) => eb(refTuple('grant_id', 'rotation'), 'in', expired.$asTuple('grant_id', 'rotation')))
    .where('expires_at', '<=', now - KEPT_FOR)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}
