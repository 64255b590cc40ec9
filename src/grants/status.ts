import {
  type AliasableExpression,
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type SqlBool,
  sql,
} from 'kysely';
import type { InactiveReason } from '../http/errors.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import type { Database } from '../storage/storage.ts';
import type { Row, Tables } from '../storage/tables.ts';
import { currentStops, isStopOf, lastStopReason, type StopTables } from './stops.ts';

/** What decides whether a grant is active, beside its own row. */
export function selectWithParties(db: Database) {
  return db
    .selectFrom('grants')
    .leftJoin('apps', 'apps.id', 'grants.app_id')
    .leftJoin('users as disabled', (join) =>
      join.onRef('disabled.id', '=', 'grants.user_id').on('disabled.disabled_at', 'is not', null),
    )
    .leftJoin('memberships', (join) =>
      join
        .onRef('memberships.business_id', '=', 'grants.business_id')
        .onRef('memberships.user_id', '=', 'grants.user_id')
        .onRef('memberships.created_at', '<=', 'grants.created_at'),
    )
    .leftJoin('stops as app_stop', (join) => join.on(isStopOf('app_stop', 'grants')))
    .leftJoin('stops as pair_stop', (join) => join.on(isStopOf('pair_stop', 'grants')))
    .leftJoin('stops as user_stop', (join) => join.on(isStopOf('user_stop', 'grants')));
}

interface Condition {
  /** Why a grant is inactive if the condition does not hold. */
  reason: InactiveReason | 'revoked' | 'stopped';
  holds: Expression<SqlBool>;
}

/**
 * The one definition of an active grant, for tokens, lists and counts: each of these holds. The first that does not is the reason
 * why a grant is inactive.
 */
function conditionsAt(now: number): Condition[] {
  const { eb, or, ref, lit } = expressionBuilder<Joined, keyof Joined>();
  return [
    { reason: 'revoked', holds: eb('grants.revoked_at', 'is', null) },
    { reason: 'stopped', holds: eb('grants.stops', '=', currentStops(['app_stop', 'pair_stop', 'user_stop'])) },
    { reason: 'grant_expired', holds: or([eb('grants.expires_at', 'is', null), eb('grants.expires_at', '>', now)]) },
    { reason: 'app_deleted', holds: eb('apps.deleted_at', 'is', null) },
    { reason: 'app_paused', holds: eb('apps.paused_at', 'is', null) },
    { reason: 'app_disabled', holds: eb('apps.disabled_at', 'is', null) },
    {
      reason: 'app_closed',
      holds: or([
        eb('apps.owner_business_id', 'is', null),
        eb('apps.open_to_any_business', '=', lit(1)),
        eb('apps.owner_business_id', '=', ref('grants.business_id')),
      ]),
    },
    { reason: 'user_disabled', holds: eb('disabled.disabled_at', 'is', null) },
    // Also null for a membership that is newer than the grant: it does not restore the grant.
    { reason: 'member_removed', holds: eb('memberships.created_at', 'is not', null) },
  ];
}

type Joined = Pick<Tables, 'grants' | 'apps' | 'memberships'> & { disabled: Tables['users'] } & StopTables;

/** Someone can undo each of these: the grants then work again. */
export const APP_SUSPENSIONS = ['app_paused', 'app_disabled', 'app_closed'] as const;
export const SUSPENSIONS = [...APP_SUSPENSIONS, 'user_disabled'] as const;

/** Active grants with tokens. `even` names reasons that do not count. */
export function selectLiveGrants(db: Database, now: number, { even = [] }: { even?: readonly InactiveReason[] } = {}) {
  const conditions = conditionsAt(now).filter(({ reason }) => !even.some((each) => each === reason));
  return selectWithParties(db)
    .where(({ and }) => and(conditions.map(({ holds }) => holds)))
    .where('grants.refresh_expires_at', '>', now);
}

export interface GrantFilter extends Partial<GrantParties> {
  connectedFor?: ConnectedFor;
}

export function matching({ appId, businessId, userId, connectedFor }: GrantFilter): Expression<SqlBool> {
  const { and, eb } = expressionBuilder<Tables, 'grants'>();
  return and([
    ...(appId === undefined ? [] : [eb('grants.app_id', '=', appId)]),
    ...(businessId === undefined ? [] : [eb('grants.business_id', '=', businessId)]),
    ...(userId === undefined ? [] : [eb('grants.user_id', '=', userId)]),
    ...(connectedFor === undefined ? [] : [eb('grants.connected_for', '=', connectedFor)]),
  ]);
}

/** Grants that are not revoked, for the follow-up of a stop. */
export function selectUnrevokedWithParties(db: Database) {
  return selectWithParties(db).where('grants.revoked_at', 'is', null);
}

/** Why the grant has ended for good; null if it is active, or only suspended. */
export function endedReason(now: number) {
  return firstReason(conditionsAt(now).filter(({ reason }) => !SUSPENSIONS.some((each) => each === reason)));
}

/** Whether this condition does not hold. */
export function isSuspendedBy(suspension: InactiveReason, now: number) {
  const { case: choose, not, lit } = expressionBuilder<Joined, keyof Joined>();
  const condition = conditionsAt(now).find(({ reason }) => reason === suspension);
  return choose()
    .when(not(condition?.holds ?? lit(true)))
    .then(lit(1))
    .else(lit(0))
    .end();
}

/** Null if the grant is active. */
export function inactiveReason(now: number) {
  return firstReason(conditionsAt(now));
}

function firstReason(conditions: Condition[]) {
  const { case: choose, not, ref } = expressionBuilder<Joined, keyof Joined>();
  const looked = { revoked: ref('grants.revoked_reason'), stopped: lastStopReason() };
  // Kysely's own type changes with each branch.
  const chain = conditions.reduce(
    (chosen, { reason, holds }) => {
      // Part of the text of the statement, where a value would be bound again for each request.
      const value = reason === 'revoked' || reason === 'stopped' ? looked[reason] : sql.lit<string | null>(reason);
      return chosen.when(not(holds)).then(value);
    },
    choose() as unknown as CaseChain,
  );
  return chain.end();
}

interface CaseChain {
  when(condition: Expression<SqlBool>): { then(value: Expression<string | null>): CaseChain };
  end(): AliasableExpression<string | null>;
}

/** One app in one business, for one user or for everyone. */
export interface GrantParties {
  appId: string;
  businessId: string;
  userId?: string | undefined;
}

/** Whether there is a row for such a grant, active or not. */
export async function wasGranted(db: Database, parties: GrantParties): Promise<boolean> {
  return (await selectBetween(db, parties).limit(1).executeTakeFirst()) !== undefined;
}

export function selectBetween(db: Database, { appId, businessId, userId }: GrantParties) {
  const between = db
    .selectFrom('grants')
    .select('id')
    .where('business_id', '=', businessId)
    .where('app_id', '=', appId);
  return userId === undefined ? between : between.where('user_id', '=', userId);
}

/** Not revoked; some may have expired. */
export function selectUnrevoked(db: Database) {
  return db.selectFrom('grants').select('id').where('revoked_at', 'is', null);
}

export function selectUnrevokedBetween(db: Database, parties: GrantParties) {
  return selectBetween(db, parties).where('revoked_at', 'is', null);
}

/** The scopes of grants, each combination once: one statement then changes all grants that have it. */
export function listScopeGroups(grants: ReturnType<typeof selectUnrevokedBetween>): Promise<ScopeGroup[]> {
  return grants.clearSelect().select(['scopes', 'withdrawn_scopes']).distinct().execute();
}

/** As they are stored. */
export type ScopeGroup = Pick<Row<'grants'>, 'scopes' | 'withdrawn_scopes'>;

/**
 * Whether an unused grant ends before this time because its app does not refresh it, and the app has no event about
 * that yet.
 */
export function needsWarning({ and, eb, or, ref }: ExpressionBuilder<Tables, 'grants'>, until: number) {
  return and([
    eb('revoked_at', 'is', null),
    eb('refresh_expires_at', '<=', until),
    // A refresh cannot postpone the end that the user chose.
    or([eb('expires_at', 'is', null), eb('expires_at', '>', ref('refresh_expires_at'))]),
    or([eb('warned_at', 'is', null), eb('warned_at', '<=', ref('rotated_at'))]),
  ]);
}
