import { findBusiness } from '../accounts/businesses.ts';
import { mayChangeBusiness } from '../accounts/memberships.ts';
import { type Actor, recordAudit } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import type { WhoConnects } from '../storage/app-tables.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { type Database, inTransaction } from '../storage/storage.ts';

export type { WhoConnects } from '../storage/app-tables.ts';

const ONLY_ROW = 1;

/** Which apps the members of a business may connect. */
export interface AppPolicy {
  who: WhoConnects;
  /** Whether only owners may allow scopes that concern staff or money. */
  reservesSensitive: boolean;
}

interface PlatformAppPolicy extends AppPolicy {
  /** Whether owners cannot override it. */
  isBinding: boolean;
}

export const WHO_CONNECTS: readonly WhoConnects[] = ['anyone', 'approved', 'admins'];

const DEFAULT: PlatformAppPolicy = { who: 'anyone', reservesSensitive: false, isBinding: false };

export async function readPlatformPolicy(db: Database): Promise<PlatformAppPolicy> {
  const row = await db.selectFrom('platform_app_policy').selectAll().executeTakeFirst();
  if (!row) return DEFAULT;
  return { who: row.who, reservesSensitive: row.reserves_sensitive === 1, isBinding: row.is_binding === 1 };
}

/** What applies to a business. Owners have not decided if `isOwn` is false. */
export async function readBusinessPolicy(
  db: Database,
  businessId: string,
): Promise<AppPolicy & { isOwn: boolean; isBinding: boolean }> {
  const platform = await readPlatformPolicy(db);
  const own = await db.selectFrom('app_policies').selectAll().where('business_id', '=', businessId).executeTakeFirst();
  if (!own || platform.isBinding) return { ...platform, isOwn: false };
  return { who: own.who, reservesSensitive: own.reserves_sensitive === 1, isOwn: true, isBinding: false };
}

export function readWho(who: string): WhoConnects {
  const known = WHO_CONNECTS.find((each) => each === who);
  if (!known) throw new FormError('who', 'Choose who may connect apps.');
  return known;
}

/**
 * Needs a transaction. Locks the business until it ends: no app is allowed in it meanwhile, and none was allowed by a
 * rule that this transaction changes. False if the actor is not an owner of it.
 */
export async function lockAppRules(actor: Actor, tx: Database, businessId: string): Promise<boolean> {
  await lockBusiness(tx, businessId);
  return mayChangeBusiness(actor, tx, businessId);
}

/** Needs a transaction. */
export async function lockBusiness(tx: Database, businessId: string): Promise<void> {
  await tx.selectFrom('businesses').select('id').where('id', '=', businessId).forNoKeyUpdate().execute();
}

/** Needs a transaction, which allows an app: until it ends, the rules of the business stay as they are. The lock is shared. */
export async function lockAppRulesForShare(tx: Database, businessId: string): Promise<void> {
  await lockBusinessForShare(tx, { businessId });
}

const lockBusinessForShare = preparedQuery((db, { businessId }: { businessId: string }) =>
  db.selectFrom('businesses').select('id').where('id', '=', businessId).forShare(),
);

interface PolicyChange extends Omit<AppPolicy, 'who'> {
  businessId: string;
  /** Absent: what applies now. */
  who?: WhoConnects;
}

/** An owner decides which apps may connect. Existing connections continue. False if the actor is not an owner. */
export async function changeAppPolicy(
  actor: Actor,
  db: Database,
  { businessId, reservesSensitive, ...change }: PolicyChange,
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const business = await findBusiness(tx, businessId);
    if (!business || !(await lockAppRules(actor, tx, businessId))) return false;
    const before = await readBusinessPolicy(tx, businessId);
    if (before.isBinding) throw new FormError('who', 'The platform has decided this for every business.');
    const { who } = { ...before, ...change };
    if (before.isOwn && isSame(before, { who, reservesSensitive })) return true;
    const row = { who, reserves_sensitive: reservesSensitive ? 1 : 0 };
    await tx
      .insertInto('app_policies')
      .values({ business_id: businessId, ...row })
      .onConflict((conflict) => conflict.column('business_id').doUpdateSet(row))
      .execute();
    const subject = { kind: 'business', id: business.id, name: business.name } as const;
    const detail = detailOf({ who, reservesSensitive });
    await recordAudit(tx, { action: 'business.app_policy_changed', actor, businessId, subject, detail }, now);
    return true;
  });
}

/** A platform admin or an operator decides for every business whose owners have not, or cannot. */
export async function changePlatformAppPolicy(
  actor: Actor,
  db: Database,
  { platformName, ...policy }: PlatformAppPolicy & { platformName: string },
  now: number,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const before = await readPlatformPolicy(tx);
    if (isSame(before, policy) && before.isBinding === policy.isBinding) return;
    const row = {
      who: policy.who,
      reserves_sensitive: policy.reservesSensitive ? 1 : 0,
      is_binding: policy.isBinding ? 1 : 0,
    };
    await tx
      .insertInto('platform_app_policy')
      .values({ id: ONLY_ROW, ...row })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
      .execute();
    const subject = { kind: 'platform', id: 'platform', name: platformName } as const;
    const detail = { ...detailOf(policy), owners: policy.isBinding ? 'cannot change it' : 'can change it' };
    await recordAudit(tx, { action: 'business.app_policy_changed', actor, businessId: null, subject, detail }, now);
  });
}

/** Needs a transaction. The end policy of the platform, as `connection-ends.ts` writes it. */
export async function storeEnds(tx: Database, ends: string): Promise<void> {
  const { who, reservesSensitive, isBinding } = DEFAULT;
  await tx
    .insertInto('platform_app_policy')
    .values({ id: ONLY_ROW, who, reserves_sensitive: Number(reservesSensitive), is_binding: Number(isBinding), ends })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ ends }))
    .execute();
}

function isSame(a: AppPolicy, b: AppPolicy): boolean {
  return a.who === b.who && a.reservesSensitive === b.reservesSensitive;
}

function detailOf({ who, reservesSensitive }: AppPolicy): Record<string, string> {
  return { who, staff_and_money: reservesSensitive ? 'owners only' : 'anyone who may connect the app' };
}
