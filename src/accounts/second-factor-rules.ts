import { type ExpressionBuilder, expressionBuilder } from 'kysely';
import { type Actor, recordAudit } from '../audit/entries.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Tables } from '../storage/tables.ts';
import { findBusiness, lockBusiness, setRequiresSecondFactor } from './businesses.ts';
import { mayChangeBusiness } from './memberships.ts';

const ONLY_ROW = 1;

interface BusinessRule {
  businessId: string;
  isRequired: boolean;
}

/** An owner decides whether the members of the business need a second factor. False if the actor is not an owner. */
export async function changeBusinessRule(
  actor: Actor,
  db: Database,
  { businessId, isRequired }: BusinessRule,
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    // Before the owners, as in every other change of a business.
    const business = await lockBusiness(tx, businessId);
    if (!business || !(await mayChangeBusiness(actor, tx, businessId))) return false;
    if (!(await setRequiresSecondFactor(tx, { businessId, isRequired }))) return true;
    const subject = { kind: 'business', id: business.id, name: business.name } as const;
    await recordAudit(tx, { action: ruleAction(isRequired), actor, businessId, subject }, now);
    return true;
  });
}

/** The rule of a business, and how many of its members have a second factor. */
export async function readBusinessRule(db: Database, businessId: string) {
  const members = await db
    .selectFrom('memberships')
    .select(({ fn }) => [
      fn.countAll().as('members'),
      fn.sum(hasSecondFactor('memberships.user_id')).as('protectedMembers'),
    ])
    .where('business_id', '=', businessId)
    .executeTakeFirstOrThrow();
  return {
    isRequired: (await findBusiness(db, businessId))?.requiresSecondFactor === true,
    members: Number(members.members),
    protectedMembers: Number(members.protectedMembers ?? 0),
  };
}

/** Of every account that can sign in. Counts at most `limit`. */
export async function countUsersWithoutFactor(db: Database, limit: number): Promise<number> {
  const without = db
    .selectFrom('users')
    .select('users.id')
    .where('disabled_at', 'is', null)
    .where(hasSecondFactor('users.id'), '=', 0)
    .limit(limit);
  const { count } = await db
    .selectFrom(without.as('without'))
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** The given members of the business who have a second factor. */
export async function listProtectedMembers(
  db: Database,
  { businessId, userIds }: { businessId: string; userIds: string[] },
): Promise<Set<string>> {
  if (userIds.length === 0) return new Set();
  const rows = await db
    .selectFrom('memberships')
    .select(['user_id as id', hasSecondFactor('memberships.user_id').as('isProtected')])
    .where('business_id', '=', businessId)
    .where('user_id', 'in', userIds)
    .execute();
  return new Set(rows.filter(({ isProtected }) => isProtected === 1).map(({ id }) => id));
}

/** 1 if the user has an authenticator app or a passkey. */
function hasSecondFactor(userId: 'memberships.user_id' | 'users.id') {
  const eb = expressionBuilder<Tables, 'memberships' | 'users'>();
  const has = eb.or([
    eb.exists(eb.selectFrom('authenticator_apps').select('secret').whereRef('authenticator_apps.user_id', '=', userId)),
    eb.exists(eb.selectFrom('passkeys').select('passkeys.id').whereRef('passkeys.user_id', '=', userId)),
  ]);
  return eb.case().when(has).then(eb.lit(1)).else(eb.lit(0)).end();
}

/** A platform admin or an operator decides whether every user needs a second factor. */
export async function changePlatformRule(
  actor: Actor,
  db: Database,
  { isRequired, platformName }: { isRequired: boolean; platformName: string },
  now: number,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    if (isRequired === (await isRequiredByPlatform(tx))) return;
    const row = { requires_second_factor: isRequired ? 1 : 0 };
    await tx
      .insertInto('platform_settings')
      .values({ id: ONLY_ROW, ...row })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
      .execute();
    const subject = { kind: 'platform', id: 'platform', name: platformName } as const;
    await recordAudit(tx, { action: ruleAction(isRequired), actor, businessId: null, subject }, now);
  });
}

function ruleAction(isRequired: boolean) {
  return isRequired ? 'factor.required' : 'factor.optional';
}

export async function isRequiredByPlatform(db: Database): Promise<boolean> {
  const required = db.selectFrom('platform_settings').select('id').where('requires_second_factor', '=', 1);
  return (await required.executeTakeFirst()) !== undefined;
}

/** Whether the platform, or any business of the user, requires a second factor. */
export async function isRequiredOf(db: Database, userId: string): Promise<boolean> {
  const found = await db
    .selectFrom('users')
    .select('users.id')
    .where('users.id', '=', userId)
    .where(isRequiredOfUser)
    .executeTakeFirst();
  return found !== undefined;
}

/** One requirement covers all businesses of a user: the same password gives access to all of them. */
function isRequiredOfUser({ or, exists, selectFrom, lit }: ExpressionBuilder<Tables, 'users'>) {
  return or([
    exists(selectFrom('platform_settings').select('id').where('requires_second_factor', '=', lit(1))),
    exists(
      selectFrom('memberships')
        .innerJoin('businesses', 'businesses.id', 'memberships.business_id')
        .select('businesses.id')
        .whereRef('memberships.user_id', '=', 'users.id')
        .where('businesses.requires_second_factor', '=', lit(1)),
    ),
  ]);
}

/** 1 if the user of the row has to verify a second factor, or to set one up, before they see a page. */
export function needsSecondFactor() {
  const eb = expressionBuilder<Tables, 'users'>();
  const app = eb.selectFrom('authenticator_apps').select('user_id').whereRef('user_id', '=', 'users.id');
  const isNeeded = eb.or([eb.exists(app), isRequiredOfUser(eb)]);
  return eb.case().when(isNeeded).then(1).else(0).end();
}
