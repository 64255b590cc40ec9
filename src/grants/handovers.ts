import { findBusiness } from '../accounts/businesses.ts';
import { lockOwnership, type Member, mayManageMembers } from '../accounts/memberships.ts';
import { notify } from '../accounts/notices.ts';
import type { App } from '../apps/apps.ts';
import { type Action, type Actor, recordAudit } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import { formatScopes, type Scopes } from '../lib/scope-lists.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { lockAppRulesForShare } from './app-policies.ts';
import { type Connection, listConnections } from './connections.ts';
import { deleteHandover, findHandover, saveHandover } from './handover-rows.ts';
import { rejectUnseenScopes, transferConnection } from './transfers.ts';

/** A connection for the business, of which the user is responsible. */
interface ConnectionOf {
  app: App;
  businessId: string;
  userId: string;
}

interface NewAuthority extends ConnectionOf {
  /** The id of the owner who is to be responsible for it. */
  to: string;
  /** As the page showed them. */
  scopes: Scopes;
}

/**
 * An owner takes a connection for the business over, or asks another owner to. Until that owner accepts, nothing changes. Undefined if
 * the actor is not an owner, or if there is no such connection.
 */
export async function changeAuthority(
  actor: Actor,
  db: Database,
  { to, scopes, ...about }: NewAuthority,
  now: number,
): Promise<'moved' | 'waiting' | undefined> {
  return inTransaction(db, async (tx) => {
    const found = await lockConnection(tx, about, now);
    if (!found || !mayManageMembers(found, actor)) return undefined;
    const { member, connection, ownersBySeniority } = found;
    const successor = ownersBySeniority.find(({ id }) => id === to);
    if (!successor) throw new FormError('to', 'Choose an owner of the business.');
    if (successor.id === member.id) return 'moved';
    rejectUnseenScopes(connection, scopes, 'to');
    if (successor.id !== actor.id) {
      await offer(actor, tx, { about, member, successor, scopes }, now);
      return 'waiting';
    }
    const { businessId } = about;
    const transfer = { from: member, to: successor, businessId, cause: 'taken over', connection } as const;
    rejectTooRecent(about.app, await transferConnection(actor, tx, transfer, now));
    return 'moved';
  });
}

export type Answer = 'accept' | 'decline' | 'withdraw';

/**
 * The owner who was asked accepts or declines; any owner, or the person who is responsible until then, withdraws. False if nothing
 * waits, or if the actor may not answer so.
 */
export async function answerHandover(
  actor: Actor,
  db: Database,
  { answer, ...about }: ConnectionOf & { answer: Answer },
  now: number,
): Promise<boolean> {
  const { app, businessId, userId } = about;
  const key = { appId: app.id, businessId, userId };
  return inTransaction(db, async (tx) => {
    const found = await lockConnection(tx, about, now);
    const handover = await findHandover(tx, key, now);
    if (!found || !handover) return false;
    const successor = found.ownersBySeniority.find(({ id }) => id === handover.to);
    const mayWithdraw = actor.id === userId || mayManageMembers(found, actor);
    if (!successor || (answer === 'withdraw' ? !mayWithdraw : successor.id !== actor.id)) return false;
    if (answer === 'accept') {
      rejectUnseenScopes(found.connection, handover.scopes, 'answer');
      const { member: from, connection } = found;
      const transfer = { from, to: successor, businessId, cause: 'handed over', connection } as const;
      rejectTooRecent(app, await transferConnection(actor, tx, transfer, now));
      return true;
    }
    await deleteHandover(tx, key);
    const action = answer === 'decline' ? 'grant.handover_declined' : 'grant.handover_withdrawn';
    await record(actor, tx, { action, about, member: found.member, successor }, now);
    return true;
  });
}

/** Needs a transaction. In this order everywhere: the rules of the business, its memberships, consents, grants. */
async function lockConnection(tx: Database, { app, businessId, userId }: ConnectionOf, now: number) {
  await lockAppRulesForShare(tx, businessId);
  const { member, ...ownership } = await lockOwnership(tx, { userId, businessId });
  const filter = { businessIds: [businessId], userId, appId: app.id, forBusiness: 'only' as const };
  const [connection] = member ? await listConnections(tx, filter, now) : [];
  return member && connection && { ...ownership, member, connection };
}

interface Parties {
  about: ConnectionOf;
  /** Who is responsible now. */
  member: Member;
  successor: Member;
}

async function offer(
  actor: Actor,
  tx: Database,
  { scopes, ...parties }: Parties & { scopes: Scopes },
  now: number,
): Promise<void> {
  const { about, member, successor } = parties;
  const { app, businessId, userId } = about;
  await saveHandover(tx, { appId: app.id, businessId, userId, to: successor.id, scopes }, now);
  const detail = { scope: formatScopes(scopes) };
  await record(actor, tx, { ...parties, action: 'grant.handover_offered', detail }, now);
  const business = (await findBusiness(tx, businessId))?.name ?? '';
  const ids = { businessId, appId: app.id, userId };
  const values = { app: app.name, business, from: member.name, by: actor.name, ...ids };
  await notify(tx, [successor.id], { kind: 'handover_offered', values }, now);
}

async function record(
  actor: Actor,
  tx: Database,
  { action, about, member, successor, detail }: Parties & { action: Action; detail?: Record<string, string> },
  now: number,
): Promise<void> {
  const { app, businessId } = about;
  const subject = { kind: 'app', id: app.id, name: app.name } as const;
  const parties = { from: member.name, to: successor.name };
  await recordAudit(tx, { action, actor, businessId, subject, detail: { ...parties, ...detail } }, now);
}

/** Rolls back. */
function rejectTooRecent({ name }: Connection['app'], { isTooRecent }: { isTooRecent: boolean }): void {
  if (!isTooRecent) return;
  throw new FormError(
    'to',
    `${name} was connected within the last ten minutes, and may still be signing its user in. Try again later.`,
  );
}
