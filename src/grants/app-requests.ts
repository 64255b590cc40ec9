import { findBusiness } from '../accounts/businesses.ts';
import { findMember } from '../accounts/memberships.ts';
import { notifyOwners } from '../accounts/notices.ts';
import { type App, saveExternalApp } from '../apps/apps.ts';
import { type Action, type Actor, recordAudit, type UserActor } from '../audit/entries.ts';
import { formatScopes, parseScopes, type Scopes } from '../lib/scope-lists.ts';
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

/** A member asked the owners to approve an app. */
export interface AppRequest extends RequestKey {
  app: Pick<App, 'name' | 'ownerScope' | 'externalClientId'>;
  /** The business that registered the app. */
  makerName: string | null;
  userName: string;
  userEmail: string;
  status: 'requested' | 'approved' | 'refused';
  scopes: Scopes;
  note: string;
  requestedAt: number;
  reason: string;
  decidedAt: number | null;
}

const MAX_LISTED = 200;

/** Those that wait first, then the newest. */
export async function listAppRequests(db: Database, businessId: string): Promise<AppRequest[]> {
  const rows = await db
    .selectFrom('app_requests')
    .innerJoin('apps', 'apps.id', 'app_requests.app_id')
    .innerJoin('users', 'users.id', 'app_requests.user_id')
    .leftJoin('businesses as makers', 'makers.id', 'apps.owner_business_id')
    .selectAll('app_requests')
    .select(['apps.name as app_name', 'apps.owner_scope', 'apps.external_client_id', 'makers.name as maker_name'])
    .select(['users.name as user_name', 'users.email as user_email'])
    .where('app_requests.business_id', '=', businessId)
    .where('apps.deleted_at', 'is', null)
    .orderBy('status', 'desc')
    .orderBy('requested_at', 'desc')
    .limit(MAX_LISTED)
    .execute();
  return rows.map((row) => ({
    businessId: row.business_id,
    appId: row.app_id,
    userId: row.user_id,
    app: { name: row.app_name, ownerScope: row.owner_scope, externalClientId: row.external_client_id },
    makerName: row.maker_name,
    userName: row.user_name,
    userEmail: row.user_email,
    status: row.status,
    scopes: parseScopes(row.scopes),
    note: row.note,
    requestedAt: row.requested_at,
    reason: row.reason,
    decidedAt: row.decided_at,
  }));
}

export async function countWaitingRequests(db: Database, businessId: string): Promise<number> {
  const { count } = await db
    .selectFrom('app_requests')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('business_id', '=', businessId)
    .where('status', '=', 'requested')
    .executeTakeFirstOrThrow();
  return Number(count);
}

interface NewRequest extends AppInBusiness {
  scopes: Scopes;
  note: string;
}

/** A member asks the owners to approve an app. A repeat updates the note. False if they are not a member. */
export async function requestApproval(
  actor: UserActor,
  db: Database,
  { app, businessId, scopes, note }: NewRequest,
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (!(await findMember(tx, businessId, actor.id))) return false;
    if (app.ownerScope === 'external') await saveExternalApp(tx, app, now);
    const key = { businessId, appId: app.id, userId: actor.id };
    const before = await findRequest(tx, key);
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
    const values = { app: app.name, business, by: actor.name };
    await notifyOwners(tx, businessId, { kind: 'approval_requested', values, cause: `${actor.id} ${app.id}` }, now);
    const detail = { scope: request.scopes, ...(note && { note }) };
    await recordDecision(actor, tx, { action: 'grant.approval_requested', app, businessId, detail }, now);
    return true;
  });
}

export async function hasRequest(db: Database, { appId, businessId }: Omit<RequestKey, 'userId'>): Promise<boolean> {
  const request = db.selectFrom('app_requests').select('user_id').where('business_id', '=', businessId);
  return (await request.where('app_id', '=', appId).limit(1).executeTakeFirst()) !== undefined;
}

/** The members who have asked for an app and wait for an owner. */
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
export async function setVerdict(
  tx: Database,
  key: RequestKey,
  verdict: { status: 'approved'; approved_scopes: string } | { status: 'refused'; reason: string },
  { actor, now }: { actor: Actor; now: number },
): Promise<void> {
  await tx
    .updateTable('app_requests')
    .set({ ...verdict, decided_by: actor.id, decided_at: now })
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

/** Needs a transaction. A member who leaves and comes back has to ask again. */
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
