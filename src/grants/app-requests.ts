import { findBusiness } from '../accounts/businesses.ts';
import { lockOwnership } from '../accounts/memberships.ts';
import { notifyOwners } from '../accounts/notices.ts';
import { type App, type AppIdentity, saveExternalApp } from '../apps/apps.ts';
import { type Action, type Actor, recordAudit, type UserActor } from '../audit/entries.ts';
import { DAY } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { formatScopes, type Scopes } from '../lib/scope-lists.ts';
import type { RetentionStep } from '../storage/retention.ts';
import { type Database, inTransaction } from '../storage/storage.ts';

export interface AppInBusiness {
  app: App;
  businessId: string;
}

export interface RequestKey {
  businessId: string;
  appId: string;
  userId: string;
}

/** What owners see of an app, so that they know whose app they approve. */
export interface DescribedApp
  extends Pick<App, 'name' | 'ownerScope' | 'ownerBusinessId' | 'externalClientId' | 'redirectUris' | 'verifiedAt'> {
  identity: Pick<AppIdentity, 'publisherName'>;
}

/** A member requested that the owners approve an app. */
export interface AppRequest extends RequestKey {
  app: DescribedApp;
  /** The business that registered the app. */
  ownerName: string | null;
  userName: string;
  userEmail: string;
  status: 'requested' | 'approved' | 'refused';
  scopes: Scopes;
  /** The scopes that this request and earlier ones were approved for. */
  approvedScopes: Scopes;
  note: string;
  requestedAt: number;
  reason: string;
  decidedAt: number | null;
}

/** Per member and business, so that one member cannot flood the list of requests. */
const MAX_WAITING = 10;
const WAITS_FOR = 90 * DAY;

/** Counts the requests of everyone, or of one member. */
export async function countWaitingRequests(db: Database, businessId: string, userId?: string): Promise<number> {
  const waiting = db
    .selectFrom('app_requests')
    .innerJoin('apps', 'apps.id', 'app_requests.app_id')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('business_id', '=', businessId)
    .where('status', '=', 'requested')
    .where('apps.deleted_at', 'is', null);
  const counted = userId === undefined ? waiting : waiting.where('user_id', '=', userId);
  return Number((await counted.executeTakeFirstOrThrow()).count);
}

interface NewRequest extends AppInBusiness {
  scopes: Scopes;
  note: string;
}

/** A member requests that the owners approve an app. A repeat updates the note. False if they are not a member. */
export async function requestApproval(
  actor: UserActor,
  db: Database,
  { app, businessId, scopes, note }: NewRequest,
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    // Requests that one member makes at the same time wait for each other here, so that each counts the others.
    if (!(await lockOwnership(tx, { userId: actor.id, businessId })).member) return false;
    const key = { businessId, appId: app.id, userId: actor.id };
    const before = await findRequest(tx, key);
    if (before?.status !== 'requested') await rejectTooMany(tx, key);
    if (app.ownerScope === 'external') await saveExternalApp(tx, app, now);
    const request = { status: 'requested', scopes: formatScopes(scopes), note, requested_at: now, reason: '' } as const;
    await tx
      .insertInto('app_requests')
      .values({ ...columnsOf(key), ...request, approved_scopes: '' })
      .onConflict((conflict) =>
        conflict
          .columns(['business_id', 'app_id', 'user_id'])
          .doUpdateSet({ ...request, decided_by: null, decided_at: null }),
      )
      .execute();
    if (before?.status === 'requested' && before.scopes === request.scopes) return true;
    const business = (await findBusiness(tx, businessId))?.name ?? '';
    const values = { app: app.name, business, businessId, by: actor.name };
    await notifyOwners(tx, businessId, { kind: 'approval_requested', values, cause: `${actor.id} ${app.id}` }, now);
    const detail = { scope: request.scopes, ...(note && { note }) };
    await recordDecision(actor, tx, { action: 'grant.approval_requested', app, businessId, detail }, now);
    return true;
  });
}

async function rejectTooMany(tx: Database, { businessId, userId }: RequestKey): Promise<void> {
  if ((await countWaitingRequests(tx, businessId, userId)) < MAX_WAITING) return;
  throw new FormError('note', (problems) => problems.tooManyRequests(MAX_WAITING));
}

/** Requests without a decision. What was approved for the member before stays approved. */
export const expiredAppRequests: RetentionStep = {
  table: 'app_requests',
  async remove(db, limit, now) {
    const until = now - WAITS_FOR;
    const due = db.selectFrom('app_requests').select(['business_id', 'app_id', 'user_id']);
    const oldest = due.where('status', '=', 'requested').where('requested_at', '<=', until);
    const rows = await oldest.orderBy('requested_at').limit(limit).execute();
    for (const row of rows) {
      // A repeat in the meantime renews the request, so both statements check it again.
      await db
        .updateTable('app_requests')
        .set(({ ref }) => ({ status: 'approved', scopes: ref('approved_scopes') }))
        .where(({ and }) => and({ ...row, status: 'requested' }))
        .where('approved_scopes', '!=', '')
        .where('requested_at', '<=', until)
        .execute();
      await db
        .deleteFrom('app_requests')
        .where(({ and }) => and({ ...row, status: 'requested' }))
        .where('requested_at', '<=', until)
        .execute();
    }
    return rows.length;
  },
};

export async function hasRequest(db: Database, { appId, businessId }: Omit<RequestKey, 'userId'>): Promise<boolean> {
  const request = db.selectFrom('app_requests').select('user_id').where('business_id', '=', businessId);
  return (await request.where('app_id', '=', appId).limit(1).executeTakeFirst()) !== undefined;
}

/** The members whose requests for an app have no decision yet. */
export function listWaitingFor(db: Database, { appId, businessId }: Omit<RequestKey, 'userId'>) {
  return db
    .selectFrom('app_requests')
    .select(['user_id as userId', 'scopes'])
    .where('business_id', '=', businessId)
    .where('app_id', '=', appId)
    .where('status', '=', 'requested')
    .execute();
}

/** Needs a transaction, with the rules locked. */
export async function setDecision(
  tx: Database,
  key: RequestKey,
  decision:
    | { status: 'approved'; approved_scopes: string }
    | { status: 'refused'; approved_scopes: ''; reason: string },
  { actor, now }: { actor: Actor; now: number },
): Promise<void> {
  await tx
    .updateTable('app_requests')
    .set({ ...decision, decided_by: actor.id, decided_at: now })
    .where(({ and }) => and(columnsOf(key)))
    .execute();
}

/** Needs a transaction. The requests of one member for an app, or of everyone. */
export async function deleteRequests(
  tx: Database,
  { appId, businessId, userId }: Omit<RequestKey, 'userId'> & { userId?: string },
): Promise<void> {
  const deletion = tx.deleteFrom('app_requests').where('business_id', '=', businessId).where('app_id', '=', appId);
  await (userId === undefined ? deletion : deletion.where('user_id', '=', userId)).execute();
}

/** Needs a transaction. A member who leaves and comes back has to request it again. */
export async function deleteRequestsOfMember(
  tx: Database,
  { userId, businessId }: Pick<RequestKey, 'userId' | 'businessId'>,
): Promise<void> {
  await tx.deleteFrom('app_requests').where('user_id', '=', userId).where('business_id', '=', businessId).execute();
}

export function findRequest(db: Database, key: RequestKey) {
  return db
    .selectFrom('app_requests')
    .selectAll()
    .where(({ and }) => and(columnsOf(key)))
    .executeTakeFirst();
}

function columnsOf({ businessId, appId, userId }: RequestKey) {
  return { business_id: businessId, app_id: appId, user_id: userId };
}

interface AuditedDecision extends AppInBusiness {
  action: Action;
  detail?: Record<string, string>;
}

export async function recordDecision(
  actor: Actor,
  tx: Database,
  { app, ...decision }: AuditedDecision,
  now: number,
): Promise<void> {
  await recordAudit(tx, { actor, subject: { kind: 'app', id: app.id, name: app.name }, ...decision }, now);
}
