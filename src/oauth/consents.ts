import type { Database } from '../storage/database.ts';
import { type ScopeMask, scopesBeyond } from './scopes.ts';

/** What a user has allowed an app in a business: remembered until the user disconnects the app. */
export interface ConsentParties {
  userId: string;
  appId: string;
  businessId: string;
}

/** The requested scopes that the user has yet to be asked about. */
export async function scopesToAsk(db: Database, parties: ConsentParties, requested: ScopeMask): Promise<ScopeMask> {
  const row = await db
    .selectFrom('consents')
    .select('scopes')
    .where('user_id', '=', parties.userId)
    .where('app_id', '=', parties.appId)
    .where('business_id', '=', parties.businessId)
    .executeTakeFirst();
  return scopesBeyond(requested, row?.scopes ?? 0);
}

export async function rememberConsent(db: Database, parties: ConsentParties, scopes: ScopeMask, now: number) {
  await db
    .insertInto('consents')
    .values({
      user_id: parties.userId,
      app_id: parties.appId,
      business_id: parties.businessId,
      scopes,
      allowed_at: now,
    })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'app_id', 'business_id']).doUpdateSet(({ eb, ref }) => ({
        scopes: eb(ref('consents.scopes'), '|', ref('excluded.scopes')),
        allowed_at: now,
      })),
    )
    .execute();
}

export async function forgetConsent(db: Database, parties: ConsentParties): Promise<void> {
  await db
    .deleteFrom('consents')
    .where('user_id', '=', parties.userId)
    .where('app_id', '=', parties.appId)
    .where('business_id', '=', parties.businessId)
    .execute();
}
