import { findMember, type Member, mayChangeBusiness } from '../accounts/memberships.ts';
import { notify } from '../accounts/notices.ts';
import { type App, findApp } from '../apps/apps.ts';
import type { Actor } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import { formatScopes, parseScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import type { AppDecision } from './app-decision-list.ts';
import { lockAppRules, lockAppRulesForShare } from './app-policies.ts';
import {
  type AppInBusiness,
  deleteRequests,
  findRequest,
  hasRequest,
  listWaitingFor,
  type RequestKey,
  recordDecision,
  setDecision,
} from './app-requests.ts';
import { countConnectedUsers } from './connected-users.ts';
import { endForEveryone } from './connections.ts';
import { formatCount } from './counts.ts';
import { wasGranted } from './status.ts';

export type Decision = 'approve_person' | 'approve_all' | 'refuse';

interface DecidedRequest extends RequestKey {
  businessName: string;
  decision: Decision;
  reason: string;
  /** As the page showed them: a request that has changed since is not decided. */
  scopes: Scopes;
}

/**
 * An owner decides about the request of a member, who is notified. False if no such request waits, or if the actor is
 * not an owner. Owners cannot decide about their own requests.
 */
export async function decideRequest(
  actor: Actor,
  db: Database,
  decided: DecidedRequest,
  now: number,
): Promise<boolean> {
  const { businessId, appId, userId, decision, reason, scopes } = decided;
  return inTransaction(db, async (tx) => {
    if (!(await lockAppRules(actor, tx, businessId))) return false;
    const [app, member] = [await findApp(tx, appId), await findMember(tx, businessId, userId)];
    const request = await findRequest(tx, decided);
    if (request?.status !== 'requested' || !app || !member) return false;
    if (userId === actor.id) throw new FormError('decision', 'Another owner has to decide about your own request.');
    if (request.scopes !== formatScopes(scopes))
      throw new FormError('decision', 'The request has changed. Review it again.');
    if (decision === 'approve_all') {
      await approveForAll(actor, tx, { app, businessId, scopes }, now);
      await closeRequests(tx, { app, member, decided }, now);
    } else if (decision === 'approve_person') {
      const approved_scopes = joinScopes(request.approved_scopes, scopes);
      await setDecision(tx, decided, { status: 'approved', approved_scopes }, { actor, now });
    } else await setDecision(tx, decided, { status: 'refused', approved_scopes: '', reason }, { actor, now });
    await recordRequestDecision(actor, tx, { app, member, decided }, now);
    await notifyMember(tx, { app, member, decided }, now);
    return true;
  });
}

/** Needs a transaction, with the rules locked. Adds the scopes to those that were approved before. A blocked app stays blocked. */
async function approveForAll(
  actor: Actor,
  tx: Database,
  { app, businessId, scopes }: AppInBusiness & { scopes: Scopes },
  now: number,
): Promise<void> {
  const before = await findDecision(tx, { app, businessId });
  if (before?.status === 'blocked') throw new FormError('decision', `${app.name} is blocked. Unblock it first.`);
  const approved = joinScopes(before?.scopes ?? '', scopes);
  const row = { status: 'approved', scopes: approved, reason: '', decided_by: actor.id, decided_at: now } as const;
  await putDecision(tx, { app, businessId }, row);
}

function joinScopes(before: string, scopes: Scopes): string {
  const earlier = parseScopes(before);
  return formatScopes([...earlier, ...scopesBeyond(scopes, earlier)]);
}

/**
 * The approval of everyone replaces that of one person, which would otherwise remain when it is withdrawn. Other members
 * who wait for the same are notified, too.
 */
async function closeRequests(tx: Database, about: Decided, now: number): Promise<void> {
  const { businessId, appId, userId, scopes } = about.decided;
  await deleteRequests(tx, { businessId, appId, userId });
  for (const waiting of await listWaitingFor(tx, { businessId, appId })) {
    if (scopesBeyond(parseScopes(waiting.scopes), scopes).length > 0) continue;
    await deleteRequests(tx, { businessId, appId, userId: waiting.userId });
    const member = await findMember(tx, businessId, waiting.userId);
    if (member) await notifyMember(tx, { ...about, member }, now);
  }
}

interface Decided {
  app: App;
  member: Member;
  decided: DecidedRequest;
}

async function recordRequestDecision(actor: Actor, tx: Database, { app, member, decided }: Decided, now: number) {
  const { businessId, decision, reason, scopes } = decided;
  const isRefused = decision === 'refuse';
  const detail: Record<string, string> = { user: decision === 'approve_all' ? 'everyone' : member.name };
  if (!isRefused) detail.scope = formatScopes(scopes);
  else if (reason) detail.reason = reason;
  const action = isRefused ? 'grant.approval_refused' : 'grant.approved';
  await recordDecision(actor, tx, { action, app, businessId, detail }, now);
}

async function notifyMember(tx: Database, { app, member, decided }: Decided, now: number): Promise<void> {
  const { businessId, businessName: business, decision, reason } = decided;
  const values = { app: app.name, business, businessId };
  const notice =
    decision === 'refuse'
      ? ({ kind: 'app_refused', values: { ...values, reason } } as const)
      : ({ kind: 'app_approved', values } as const);
  await notify(tx, [member.id], notice, now);
}

/** Everyone's connections to the app in the business end at once, and no member can connect it again. False if the actor is not an owner. */
export async function blockApp(
  actor: Actor,
  db: Database,
  { app, businessId, reason }: AppInBusiness & { reason: string },
  now: number,
): Promise<boolean> {
  if (app.ownerScope === 'platform') throw new FormError('reason', 'An app of the platform cannot be blocked.');
  // Before the transaction, for which others wait.
  const counted = await countConnectedUsers(db, { appId: app.id, businessId }, now);
  return inTransaction(db, async (tx) => {
    // Shared, as by Allows, which on PostgreSQL overtake who waits for it alone: the counter ends what they create meanwhile.
    await lockAppRulesForShare(tx, businessId);
    if (!(await mayChangeBusiness(actor, tx, businessId))) return false;
    if ((await findDecision(tx, { app, businessId }))?.status === 'blocked') return true;
    const row = { status: 'blocked', scopes: '', reason, decided_by: actor.id, decided_at: now } as const;
    await putDecision(tx, { app, businessId }, row);
    await deleteRequests(tx, { appId: app.id, businessId });
    await endForEveryone(tx, { appId: app.id, businessId }, 'app_blocked', now);
    const detail = { people: formatCount(counted.users, counted), ...(reason && { reason }) };
    await recordDecision(actor, tx, { action: 'grant.app_blocked', app, businessId, detail }, now);
    return true;
  });
}

/**
 * An owner takes an approval or a block back. An approved app keeps the connections that it has. Undefined if there is
 * nothing to take back, or if the actor is not an owner.
 */
export async function withdrawAppDecision(
  actor: Actor,
  db: Database,
  { app, businessId }: AppInBusiness,
  now: number,
): Promise<AppDecision['status'] | undefined> {
  return inTransaction(db, async (tx) => {
    if (!(await lockAppRules(actor, tx, businessId))) return undefined;
    const before = await findDecision(tx, { app, businessId });
    if (!before) return undefined;
    await tx.deleteFrom('app_approvals').where('business_id', '=', businessId).where('app_id', '=', app.id).execute();
    const withdrawn = { action: 'grant.approval_withdrawn', detail: { user: 'everyone' } } as const;
    const change = before.status === 'blocked' ? ({ action: 'grant.app_unblocked' } as const) : withdrawn;
    await recordDecision(actor, tx, { ...change, app, businessId }, now);
    return before.status;
  });
}

/** An owner takes back what was decided about the request of one member, who can request it again. */
export async function withdrawRequestDecision(
  actor: Actor,
  db: Database,
  { app, businessId, userId }: AppInBusiness & { userId: string },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (!(await lockAppRules(actor, tx, businessId))) return false;
    const key = { businessId, appId: app.id, userId };
    const [before, member] = [await findRequest(tx, key), await findMember(tx, businessId, userId)];
    if (!before || !member) return false;
    await deleteRequests(tx, key);
    const detail = { user: member.name };
    await recordDecision(actor, tx, { action: 'grant.approval_withdrawn', app, businessId, detail }, now);
    return true;
  });
}

/** Whether the business owns the app, or a member has connected it, requested it or decided about it. */
export async function isKnownApp(db: Database, { app, businessId }: AppInBusiness): Promise<boolean> {
  const parties = { appId: app.id, businessId };
  if (app.ownerBusinessId === businessId || (await wasGranted(db, parties))) return true;
  return (await hasRequest(db, parties)) || (await findDecision(db, { app, businessId })) !== undefined;
}

type DecisionRow = Omit<Row<'app_approvals'>, 'business_id' | 'app_id'>;

async function putDecision(tx: Database, { app, businessId }: AppInBusiness, row: DecisionRow): Promise<void> {
  await tx
    .insertInto('app_approvals')
    .values({ business_id: businessId, app_id: app.id, ...row })
    .onConflict((conflict) => conflict.columns(['business_id', 'app_id']).doUpdateSet(row))
    .execute();
}

function findDecision(db: Database, { app, businessId }: AppInBusiness) {
  return db
    .selectFrom('app_approvals')
    .selectAll()
    .where('business_id', '=', businessId)
    .where('app_id', '=', app.id)
    .executeTakeFirst();
}
