import { expressionBuilder } from 'kysely';
import { insertDependentEvent } from '../events/events.ts';
import type { InactiveReason } from '../http/errors.ts';
import { DAY } from '../lib/clock.ts';
import type { BuildSelect } from '../storage/batched-query.ts';
import { batchedUpdate } from '../storage/batched-update.ts';
import { chainedInsert, conditionalInsert, type DependentQuery } from '../storage/chained-writes.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import type { ValueTypes } from '../storage/value-lists.ts';
import type { Grant } from './grant.ts';
import { ROTATED_TYPES, removableOn, rotatedNow } from './lifetimes.ts';
import { GRANT_TYPES, type GrantRow, type NewCode, type NewGrant, newGrantRow } from './new-grants.ts';
import { type GrantParties, needsWarning } from './status.ts';

export { findGrant, type Grant } from './grant.ts';

/** Undefined if the id is taken, by the first of two clicks on Allow. */
export async function createGrant(db: Database, grant: NewGrant, now: number): Promise<NewCode | undefined> {
  const row = newGrantRow(grant, now);
  const created = await insertGrant(db, row);
  return created.length > 0 ? codeFrom(row) : undefined;
}

function codeFrom({ id, salt, code_expires_at: codeExpiresAt }: GrantRow): NewCode {
  return { id, salt, codeExpiresAt };
}

type Inserted = Pick<Grant, 'appId' | 'businessId'>;

const NEW_ROW = {
  table: 'grants',
  types: GRANT_TYPES,
  columns: ['appId', 'businessId'],
  returning: ['app_id as appId', 'business_id as businessId'],
  dependents: [insertCreatedEvent],
} as const;

function insertCreatedEvent(
  dependent: DependentQuery<Inserted>,
  { eventId: id, eventData, created_at: now }: GrantRow,
) {
  return insertDependentEvent(dependent, { id, type: 'grant.created', data: expressionBuilder().val(eventData), now });
}

const insertGrant = chainedInsert<GrantRow, Inserted>(NEW_ROW);

/**
 * Like `createGrant`, if the condition finds a row, in one statement. Undefined if it finds none, or if the database cannot combine
 * statements: a transaction then has to decide.
 */
export function createGrantIf<Values extends object>(
  types: ValueTypes<Values>,
  condition: BuildSelect<Values & GrantRow, object>,
): (db: Database, grant: NewGrant, values: Values, now: number) => Promise<NewCode | undefined> {
  const otherTypes = { eventId: 'uuid', eventData: 'text', ...types } as const;
  const insert = conditionalInsert<Values & GrantRow, Inserted>({
    ...NEW_ROW,
    otherTypes,
    condition,
    found: ['stops'],
  });
  return async (db, grant, values, now) => {
    const row = newGrantRow(grant, now);
    return (await insert(db, { ...values, ...row })) ? codeFrom(row) : undefined;
  };
}

/**
 * Writes the row again. A commit that a crash has interrupted may be missing on the synchronous standbys; this one waits for them, and for all
 * before it.
 */
export async function confirmGrant(db: Database, id: string): Promise<void> {
  await rewriteGrant(db, { id });
}

const rewriteGrant = preparedQuery((db, { id }: { id: string }) =>
  db
    .updateTable('grants')
    .set(({ ref }) => ({ salt: ref('salt') }))
    .where('id', '=', id),
);

/**
 * Atomic: the conditional UPDATE succeeds for one caller only. It clears what only an exchange needs, because a row may
 * exist for years.
 */
export async function markExchanged(db: Database, grantId: string, now: number): Promise<boolean> {
  const { numAffectedRows } = await updateExchanged(db, { id: grantId, exchanged_at: now, ...rotatedNow(now) });
  return numAffectedRows === 1n;
}

const EXCHANGE_TYPES = { id: 'uuid', exchanged_at: 'bigint', ...ROTATED_TYPES } as const;

const updateExchanged = batchedUpdate({
  table: 'grants',
  key: 'id',
  types: EXCHANGE_TYPES,
  change: (db, { id, exchanged_at, rotated_at, refresh_expires_at, removable_on }: Omit<Rotation, 'from' | 'to'>) =>
    db
      .updateTable('grants')
      .set({ exchanged_at, rotated_at, refresh_expires_at, removable_on, redirect_uri: null, code_challenge: null })
      .where('id', '=', id)
      .where('exchanged_at', 'is', null)
      .where('revoked_at', 'is', null),
});

/**
 * Moves the row from the rotation it was read at to the one after the token's. Atomic: true for one caller only. If the
 * database lost a commit, the token is ahead of the row; the row then catches up.
 */
export async function rotate(
  db: Database,
  { grant, spent }: { grant: Grant; spent: number },
  now: number,
): Promise<boolean> {
  const rotation: Rotation = {
    id: grant.id,
    from: grant.rotation,
    to: spent + 1,
    exchanged_at: grant.exchangedAt ?? now,
    ...rotatedNow(now),
  };
  const update = rotation.removable_on === grant.removableOn ? rotateWithinDay : rotateToNewDay;
  return (await update(db, rotation)).numAffectedRows === 1n;
}

const ROTATION_TYPES = { ...EXCHANGE_TYPES, from: 'bigint', to: 'bigint' } as const;
const ROTATION = { table: 'grants', key: 'id', types: ROTATION_TYPES } as const;

interface Rotation extends ReturnType<typeof rotatedNow> {
  id: string;
  from: number;
  to: number;
  exchanged_at: number;
}

const rotateToNewDay = batchedUpdate({
  ...ROTATION,
  change: (db, row: Rotation) => updateRotation(db, row).set({ removable_on: row.removable_on }),
});

/** Leaves `removable_on` out: SQLite writes to its index even if the value is the same, as it mostly is. */
const rotateWithinDay = batchedUpdate({ ...ROTATION, change: updateRotation });

function updateRotation(db: Database, { id, from, to, exchanged_at, rotated_at, refresh_expires_at }: Rotation) {
  return db
    .updateTable('grants')
    .set({ rotation: to, exchanged_at, rotated_at, refresh_expires_at })
    .where('id', '=', id)
    .where('rotation', '=', from)
    .where('revoked_at', 'is', null);
}

/** Records that an access token of this rotation has been used. */
export async function markUsed(db: Database, use: Pick<Grant, 'id' | 'rotation'>): Promise<void> {
  await updateUsed(db, use);
}

const updateUsed = preparedQuery((db, { id, rotation }: Pick<Grant, 'id' | 'rotation'>) =>
  db.updateTable('grants').set({ used_rotation: rotation }).where('id', '=', id).where('used_rotation', '<', rotation),
);

/** Ends every token. A grant that was revoked already keeps its first reason. */
export function updateRevoked(db: Database, { reason, now }: { reason: InactiveReason; now: number }) {
  return db
    .updateTable('grants')
    .set({ revoked_at: now, revoked_reason: reason })
    .where('revoked_at', 'is', null)
    .returning(['id as grantId', 'app_id as appId', 'business_id as businessId', 'user_id as userId']);
}

/** As many as a connection has beyond its limit. Their rows can be removed a day later: an app may always be at the limit. */
export function updateBeyondLimit(db: Database, ids: string[], now: number): Promise<Revoked[]> {
  const removable_on = removableOn(now);
  return updateRevoked(db, { reason: 'connection_limit', now }).set({ removable_on }).where('id', 'in', ids).execute();
}

export type Revoked = Pick<Grant, 'appId' | 'businessId' | 'userId'> & { grantId: string };

/** Of one connection. Atomic without a lock before: the conditions are those of the row itself. */
export function updateUnrevoked(db: Database, { appId, businessId, userId }: Required<GrantParties>) {
  return db
    .updateTable('grants')
    .where('business_id', '=', businessId)
    .where('app_id', '=', appId)
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null);
}

/** Needs a transaction. Returns the rows, without those that were refreshed, or warned of by another node, in the meantime. */
export async function markWarned(
  db: Database,
  { ids, until }: { ids: string[]; until: number },
  now: number,
): Promise<Row<'grants'>[]> {
  return db
    .updateTable('grants')
    .set({ warned_at: now })
    .where('id', 'in', ids)
    .where((grants) => needsWarning(grants, until))
    .returningAll()
    .execute();
}

export const inactiveGrants = retentionStep('grants', ['id'], 'removable_on', (now) => Math.floor(now / DAY));
