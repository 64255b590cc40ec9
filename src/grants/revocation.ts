import { expressionBuilder } from 'kysely';
import { insertDependentEntry } from '../audit/entries.ts';
import { insertDependentEvent, recordEvents } from '../events/events.ts';
import type { InactiveReason } from '../http/errors.ts';
import { newId } from '../lib/ids.ts';
import { chainedUpdate, type DependentQuery } from '../storage/chained-writes.ts';
import { jsonObject } from '../storage/json-object.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Tables } from '../storage/tables.ts';
import { type Revoked, updateRevoked } from './grants.ts';
import { type GrantParties, selectUnrevoked, selectUnrevokedBetween } from './status.ts';

/** Ends every token of the grant. False if it was revoked already: it keeps its first reason. */
export async function revokeGrant(
  db: Database,
  grantId: string,
  reason: InactiveReason,
  now: number,
): Promise<boolean> {
  return (await revokeOne(db, { grantId, reason, now, eventId: newId(now) })).length > 0;
}

/** A revocation of one grant, with the ids of what it records. */
interface Revocation {
  grantId: string;
  reason: InactiveReason;
  now: number;
  eventId: string;
}

const revocation = {
  table: 'grants' as const,
  key: 'grantId' as const,
  types: { grantId: 'uuid', reason: 'text', now: 'bigint', eventId: 'uuid' } as const,
  columns: ['grantId', 'appId', 'businessId', 'userId'] as const,
  change: (db: Database, { grantId, reason, now }: Revocation) =>
    updateRevoked(db, { reason, now }).where('id', '=', grantId),
  insertEvent: (dependent: DependentQuery<Revoked>, { eventId: id, reason, now }: Revocation, db: Database) => {
    const { ref, cast, val } = expressionBuilder<{ changed: Revoked }, 'changed'>();
    const ids = { grantId: ref('changed.grantId'), userId: ref('changed.userId') };
    const data = jsonObject(db, { ...ids, reason: cast<string>(val(reason), 'text') });
    return insertDependentEvent(dependent, { id, type: 'grant.revoked', data, now });
  },
};

const revokeOne = chainedUpdate({ ...revocation, dependents: [revocation.insertEvent] });

/** Needs a transaction. Returns the users who had allowed the apps. */
export async function revokeGrants(
  db: Database,
  grants: ReturnType<typeof selectUnrevoked>,
  reason: InactiveReason,
  now: number,
) {
  const revoked = await updateRevoked(db, { reason, now }).where('id', 'in', grants).execute();
  return recordRevoked(db, revoked, reason, now);
}

/** Needs a transaction. Returns the users. */
export async function recordRevoked(
  db: Database,
  revoked: Revoked[],
  reason: InactiveReason,
  now: number,
): Promise<string[]> {
  const events = revoked.map((grant) => revokedEvent(grant, reason));
  await recordEvents(db, events, now);
  return revoked.map(({ userId }) => userId);
}

function revokedEvent({ grantId, userId, ...audience }: Revoked, reason: InactiveReason) {
  return { type: 'grant.revoked' as const, ...audience, data: { grantId, userId, reason } };
}

const REVOKE_BATCH = 500;

/** In batches, each with its own transaction. Returns how many there were. */
export async function revokeEveryGrant(db: Database, reason: InactiveReason, now: number): Promise<number> {
  let total = 0;
  for (let count = REVOKE_BATCH; count === REVOKE_BATCH; total += count) {
    const batch = selectUnrevoked(db).limit(REVOKE_BATCH);
    count = (await inTransaction(db, (tx) => revokeGrants(tx, batch, reason, now))).length;
  }
  return total;
}

/** Needs a transaction. The grants of one connection: at most as many as its limit. */
export async function revokeConnection(
  db: Database,
  parties: Required<GrantParties>,
  reason: InactiveReason,
  now: number,
): Promise<string[]> {
  const { rows } = await revokeBetween(db, { ...parties, reason, now });
  return recordRevoked(db, rows, reason, now);
}

type Ending = Required<GrantParties> & Pick<Revocation, 'reason' | 'now'>;

const revokeBetween = preparedQuery((db, { appId, businessId, userId, reason, now }: Ending) =>
  updateRevoked(db, { reason, now }).where('id', 'in', selectUnrevokedBetween(db, { appId, businessId, userId })),
);

/** The app ends its own grant. The owners of the business see it in their audit log. */
export async function revokeByApp(
  db: Database,
  { grantId, address }: { grantId: string; address: string },
  now: number,
): Promise<void> {
  const ids = { eventId: newId(now), entryId: newId(now) };
  await revokeAndAudit(db, { grantId, reason: 'revoked_by_app', address, now, ...ids });
}

interface RevocationByApp extends Revocation {
  address: string;
  entryId: string;
}

const revokeAndAudit = chainedUpdate({
  ...revocation,
  types: { ...revocation.types, address: 'text', entryId: 'uuid' },
  change: (db, values: RevocationByApp) => revocation.change(db, values),
  dependents: [revocation.insertEvent, insertAudit],
});

function insertAudit(dependent: DependentQuery<Revoked>, { entryId, address, now }: RevocationByApp, db: Database) {
  const builder = expressionBuilder<Tables & { changed: Revoked }>();
  const { ref, fn, val } = expressionBuilder<Tables & { changed: Revoked }, 'changed' | 'apps' | 'users'>();
  const source = builder
    .selectFrom('changed')
    .leftJoin('apps', (join) => join.onRef('apps.id', '=', 'changed.appId').on('apps.deleted_at', 'is', null))
    .leftJoin('users', 'users.id', 'changed.userId');
  const app = { id: ref('changed.appId'), name: fn.coalesce('apps.name', val('A deleted app')) };
  return insertDependentEntry(dependent, source, {
    id: val(entryId),
    at: val(now),
    action: val<string>('grant.revoked'),
    actor_kind: val<'app'>('app'),
    actor_id: app.id,
    person_id: app.id,
    actor_name: app.name,
    actor_email: val(null),
    address: val(address),
    business_id: ref('changed.businessId'),
    subject_kind: val<string>('app'),
    subject_id: app.id,
    subject_name: app.name,
    detail: jsonObject(db, { user: fn.coalesce('users.name', val('')) }),
  });
}
