import type { InactiveReason } from '../http/errors.ts';
import { newId } from '../lib/ids.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { deleteEndedConsents } from './consents.ts';
import { runLimitBatch } from './limit-batches.ts';
import { recordRevoked, revokeGrants } from './revocation.ts';
import { type GrantFilter, isSuspendedBy, selectUnrevoked } from './status.ts';
import { isLive, type Position, positionOf, selectUnrevokedAfter } from './unrevoked.ts';

/**
 * What remains to be done after a stop, which takes effect without it: events for the apps, and the reason in the rows of the grants.
 * A row of `follow_ups` is inserted in the transaction of the stop. Each batch is a transaction of its own, which also stores how far
 * it has come: a node that is killed leaves nothing half done, and any node continues.
 */
export interface FollowUp {
  /**
   * `end`: marks grants that have ended. `notify`: only tells apps that a grant does not work for now. `limit`: ends what one connection, or
   * any, has beyond its limit.
   */
  kind: 'end' | 'notify' | 'limit';
  appId?: string;
  businessId?: string;
  userId?: string;
  reason: InactiveReason;
}

const BATCH = 500;

/** Needs the transaction of the stop. */
export function requestFollowUp(tx: Database, { kind, appId, businessId, userId, reason }: FollowUp, now: number) {
  const ids = { app_id: appId ?? null, business_id: businessId ?? null, user_id: userId ?? null };
  return tx
    .insertInto('follow_ups')
    .values({ id: newId(now), kind, ...ids, reason, started_at: now })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/**
 * Needs the transaction of the stop, and runs the first batch in it. For nearly every user this is all of it: the grants of someone who
 * is invited again at once are marked before.
 */
export async function beginFollowUp(tx: Database, followUp: FollowUp, now: number): Promise<void> {
  await runBatch(tx, await requestFollowUp(tx, followUp, now), now);
}

/** Needs a transaction. It no longer applies: the app is resumed, or the user enabled. */
export async function cancelNotices(
  tx: Database,
  whose: { app_id: string } | { user_id: string },
  reason: InactiveReason,
): Promise<void> {
  await tx
    .deleteFrom('follow_ups')
    .where(({ and }) => and({ kind: 'notify', reason, ...whose }))
    .execute();
}

/** Polled often, so it runs without a transaction. */
export async function hasFollowUps(db: Database): Promise<boolean> {
  return (await db.selectFrom('follow_ups').select('id').limit(1).executeTakeFirst()) !== undefined;
}

/**
 * Runs one batch of the follow-up with the fewest grants done: many small ones do not wait for a large one. If the batch fails, adds the
 * follow-up to `failed`, and the others do not wait for it. False if none waits for this node.
 */
export async function runFollowUp(db: Database, now: number, failed = new Set<string>()): Promise<boolean> {
  let id: string | undefined;
  try {
    return await inTransaction(db, async (tx) => {
      const followUp = await takeFollowUp(tx, failed);
      if (!followUp) return false;
      id = followUp.id;
      await runBatch(tx, followUp, now);
      return true;
    });
  } catch (error) {
    if (id !== undefined) failed.add(id);
    throw error;
  }
}

async function runBatch(tx: Database, followUp: Waiting, now: number): Promise<void> {
  if (followUp.kind === 'limit') return limitConnections(tx, followUp, now);
  const batch = await readBatch(tx, followUp, now);
  if (followUp.kind === 'end') await endGrants(tx, batch, now);
  else await notifyOfGrants(tx, batch, followUp.reason as InactiveReason, now);
  const isLast = batch.length < BATCH && (await endConsents(tx, followUp)) < BATCH;
  await (isLast ? removeFollowUp(tx, followUp.id) : advance(tx, followUp, batch));
}

async function limitConnections(tx: Database, followUp: Waiting, now: number): Promise<void> {
  const { found, next, read } = await runLimitBatch(tx, followUp, BATCH, now);
  if (found) await requestFollowUp(tx, { kind: 'limit', ...found, reason: 'connection_limit' }, now);
  await (next ? storePosition(tx, followUp, { ...next, read }) : removeFollowUp(tx, followUp.id));
}

/** Other nodes skip the row until the transaction ends. */
function takeFollowUp(tx: Database, failed: Set<string>) {
  return tx
    .selectFrom('follow_ups')
    .selectAll()
    .$if(failed.size > 0, (others) => others.where('id', 'not in', [...failed]))
    .orderBy('done')
    .orderBy('id')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
}

type Waiting = Row<'follow_ups'>;
type Grants = Awaited<ReturnType<typeof readBatch>>;

async function readBatch(tx: Database, followUp: Waiting, now: number) {
  const rows = await selectUnrevokedAfter(tx, filterOf(followUp), positionAfter(followUp), now)
    .select(isSuspendedBy(followUp.reason as InactiveReason, now).as('isSuspended'))
    .limit(BATCH)
    .execute();
  return rows.map((row) => ({ ...row, isLive: isLive(row, now) }));
}

/** Where the next batch begins. */
export function positionAfter({ after_part, after_id }: Waiting): Position {
  return [after_part, after_id].filter((part) => part !== null);
}

export function filterOf({ app_id, business_id, user_id }: Waiting): GrantFilter {
  return { appId: app_id ?? undefined, businessId: business_id ?? undefined, userId: user_id ?? undefined };
}

async function endGrants(tx: Database, batch: Grants, now: number): Promise<void> {
  const ended = batch.filter((grant) => grant.ended !== null);
  for (const [reason, grants] of Map.groupBy(ended, (grant) => grant.ended as InactiveReason)) {
    const ids = grants.map(({ grantId }) => grantId);
    await revokeGrants(tx, selectUnrevoked(tx).where('id', 'in', ids), reason, now);
  }
}

/** Not of those that have ended: they got an event then. */
async function notifyOfGrants(tx: Database, batch: Grants, reason: InactiveReason, now: number): Promise<void> {
  const suspended = batch.filter((grant) => grant.isSuspended && grant.isLive);
  await recordRevoked(tx, suspended, reason, now);
}

/** Those of everyone who had connected an app to a business. */
async function endConsents(tx: Database, { kind, app_id, business_id, user_id }: Waiting): Promise<number> {
  if (kind !== 'end' || app_id === null || business_id === null || user_id !== null) return 0;
  return deleteEndedConsents(tx, { appId: app_id, businessId: business_id }, BATCH);
}

async function advance(tx: Database, followUp: Waiting, batch: Grants): Promise<void> {
  const last = batch.at(-1);
  if (!last) return;
  const position = positionOf(filterOf(followUp), last);
  const [after_id = null, after_part = null] = position.toReversed();
  await storePosition(tx, followUp, { after_part, after_id, read: batch.length });
}

async function storePosition(
  tx: Database,
  { id, done }: Waiting,
  { read, ...position }: Pick<Waiting, 'after_part' | 'after_id'> & { read: number },
): Promise<void> {
  await tx
    .updateTable('follow_ups')
    .set({ done: done + read, ...position })
    .where('id', '=', id)
    .execute();
}

async function removeFollowUp(tx: Database, id: string): Promise<void> {
  await tx.deleteFrom('follow_ups').where('id', '=', id).execute();
}
