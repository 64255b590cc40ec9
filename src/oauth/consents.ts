import type { Database } from '../storage/storage.ts';
import { type ScopeMask, scopesBeyond } from './scopes.ts';

/** What a user has allowed an app in a business: remembered until the user disconnects the app. */
export interface ConsentParties {
  userId: string;
  appId: string;
  businessId: string;
}

/** The requested scopes that the user has yet to be asked about. */
export async function scopesToAsk(db: Database, parties: ConsentParties, requested: ScopeMask): Promise<ScopeMask> {
  return scopesBeyond(requested, await allowedScopes(db, parties));
}

/** In a transaction. Adds to what was allowed before, unless that has been taken back in the meantime. */
export async function rememberConsent(db: Database, parties: ConsentParties, allowed: ScopeMask, now: number) {
  const isHeld = await holdConsent(db, parties);
  const scopes = isHeld ? allowed | (await allowedScopes(db, parties)) : allowed;
  const { userId: user_id, appId: app_id, businessId: business_id } = parties;
  await db
    .insertInto('consents')
    .values({ user_id, app_id, business_id, scopes, allowed_at: now })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'app_id', 'business_id']).doUpdateSet(({ eb, ref }) => ({
        scopes: isHeld ? scopes : eb(ref('consents.scopes'), '|', ref('excluded.scopes')),
        allowed_at: now,
      })),
    )
    .execute();
}

/** Like `scopesToAsk`, in a transaction: until it is over, nobody can take the consent back. */
export async function scopesToAskHolding(db: Database, parties: ConsentParties, requested: ScopeMask) {
  await holdConsent(db, parties);
  return scopesToAsk(db, parties, requested);
}

/** Writing to a row, even what it holds already, makes everyone else who would change it wait. */
async function holdConsent(db: Database, parties: ConsentParties): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('consents')
    .set(({ ref }) => ({ scopes: ref('scopes') }))
    .where('user_id', '=', parties.userId)
    .where('app_id', '=', parties.appId)
    .where('business_id', '=', parties.businessId)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

export async function listConsents(db: Database, userId: string) {
  return db
    .selectFrom('consents')
    .select(['app_id as appId', 'business_id as businessId', 'scopes', 'allowed_at as since'])
    .where('user_id', '=', userId)
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

/** A consent older than the membership is another one's: whoever leaves a business and returns is asked again. */
async function allowedScopes(db: Database, parties: ConsentParties): Promise<ScopeMask> {
  const row = await db
    .selectFrom('consents')
    .innerJoin('memberships', (join) =>
      join
        .onRef('memberships.user_id', '=', 'consents.user_id')
        .onRef('memberships.business_id', '=', 'consents.business_id')
        .onRef('memberships.created_at', '<=', 'consents.allowed_at'),
    )
    .select('consents.scopes')
    .where('consents.user_id', '=', parties.userId)
    .where('consents.app_id', '=', parties.appId)
    .where('consents.business_id', '=', parties.businessId)
    .executeTakeFirst();
  return row?.scopes ?? 0;
}
