import { withdrawInvitationsOf } from '../accounts/invitations.ts';
import {
  deleteMembership,
  lockOwnership,
  type Member,
  mayManageMembers,
  type Ownership,
  readRole,
  rejectLastOwner,
  updateRole,
} from '../accounts/memberships.ts';
import { auditedUser } from '../accounts/users.ts';
import { type Actor, recordAudit } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import type { Scopes } from '../lib/scope-lists.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { lockAppRulesForShare } from './app-policies.ts';
import { deleteRequestsOfMember } from './app-requests.ts';
import { type Connection, listConnections } from './connections.ts';
import { forgetConsentsOfMember } from './consents.ts';
import { beginFollowUp } from './follow-ups.ts';
import { deleteHandoversOfMember } from './handover-rows.ts';
import {
  canConnectForBusiness,
  findSuccessor,
  rejectUnseenScopes,
  transferBusinessConnections,
  transferConnection,
} from './transfers.ts';

interface Parties {
  userId: string;
  businessId: string;
}

/** What an owner decides about a connection of the member whom they remove. */
export interface RemovalChoice {
  appId: string;
  isTakenOver: boolean;
  /** As the page showed them. */
  scopes: Scopes;
}

interface Removal extends Parties {
  /** What the owner chose on the page. If undefined, connections for the business move, and all others end. */
  choices?: RemovalChoice[];
}

/**
 * A member leaves, or an owner or operator removes them. Their grants in the business end, and a later membership does not
 * restore them; those for the business move to an owner. False if there is no such member, or if the actor may not remove them.
 */
export async function removeMember(
  actor: Actor,
  db: Database,
  { userId, businessId, choices }: Removal,
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const ownership = await lockMember(tx, { userId, businessId });
    const { member } = ownership;
    if (!member || (actor.id !== userId && !mayManageMembers(ownership, actor))) return false;
    rejectLastOwner(ownership, actor);
    const leaving = { member, businessId, ownership, now };
    if (choices && actor.id !== userId) await applyChoices(actor, tx, leaving, choices);
    else await moveToSuccessor(actor, tx, leaving, actor.id === userId ? 'member left' : 'member removed');
    await deleteMembership(tx, userId, businessId);
    await withdrawInvitationsOf(tx, { userId, businessId }, now);
    await deleteRequestsOfMember(tx, { userId, businessId });
    await deleteHandoversOfMember(tx, { userId, businessId });
    // In this order: a grant that relies on a consent is either marked below, or waits and finds no consent.
    await forgetConsentsOfMember(tx, { userId, businessId });
    await beginFollowUp(tx, { kind: 'end', userId, businessId, reason: 'member_removed' }, now);
    const subject = auditedUser(member);
    const detail = { role: member.role };
    await recordAudit(tx, { action: 'member.removed', actor, businessId, subject, detail }, now);
    return true;
  });
}

interface LeavingMember {
  member: Member;
  businessId: string;
  ownership: Ownership;
  now: number;
}

type Cause = Parameters<typeof transferBusinessConnections>[2]['cause'];

/** Changes nothing if there is no other owner. */
async function moveToSuccessor(
  actor: Actor,
  tx: Database,
  { member: from, businessId, ownership, now }: LeavingMember,
  cause: Cause,
): Promise<void> {
  const to = findSuccessor(ownership, actor);
  if (to) await transferBusinessConnections(actor, tx, { from, to, businessId, cause }, now);
}

/** Connections that are not taken over end with the membership. */
async function applyChoices(
  actor: Actor,
  tx: Database,
  leaving: LeavingMember,
  choices: RemovalChoice[],
): Promise<void> {
  const { member: from, businessId, ownership, now } = leaving;
  const to = findSuccessor(ownership, actor);
  if (!to) return;
  for (const connection of await listDecided(tx, leaving, choices)) {
    const { app, connectedFor } = connection;
    const choice = choices.find(({ appId }) => appId === app.id);
    if (!choice && connectedFor === 'business') {
      throw new FormError(
        'connections',
        `${from.name} has connected ${app.name} in the meantime. Decide about it, too.`,
      );
    }
    if (!choice?.isTakenOver || !canConnectForBusiness(app)) continue;
    rejectUnseenScopes(connection, choice.scopes, 'connections');
    await transferConnection(actor, tx, { from, to, businessId, cause: 'member removed', connection }, now);
  }
}

/** Those for the business, and those that are taken over. The others, which may have very many grants, are not read. */
async function listDecided(
  tx: Database,
  { member, businessId, now }: LeavingMember,
  choices: RemovalChoice[],
): Promise<Connection[]> {
  const filter = { businessIds: [businessId], userId: member.id };
  const decided = await listConnections(tx, { ...filter, forBusiness: 'only', limit: MAX_LISTED }, now);
  const isOther = ({ appId, isTakenOver }: RemovalChoice) =>
    isTakenOver && !decided.some(({ app }) => app.id === appId);
  for (const { appId } of choices.filter(isOther).slice(0, MAX_LISTED)) {
    decided.push(...(await listConnections(tx, { ...filter, appId }, now)));
  }
  return decided;
}

/** More than any user connects. Connections beyond this limit end with the membership. */
const MAX_LISTED = 100;

/** What a member has connected: those for the business first. */
export async function listMemberConnections(
  db: Database,
  { userId, businessId }: Parties,
  now: number,
): Promise<Connection[]> {
  const filter = { businessIds: [businessId], userId, limit: MAX_LISTED };
  const forBusiness = await listConnections(db, { ...filter, forBusiness: 'only' }, now);
  const all = await listConnections(db, filter, now);
  return [...forBusiness, ...all.filter(({ connectedFor }) => connectedFor === 'user')];
}

/** False if there is no such member, or if the actor may not change the role. */
export async function changeRole(
  actor: Actor,
  db: Database,
  { userId, businessId, role }: Parties & { role: string },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const ownership = await lockMember(tx, { userId, businessId });
    const { member } = ownership;
    if (!member || !mayManageMembers(ownership, actor)) return false;
    const newRole = readRole(role);
    if (newRole === member.role) return true;
    rejectLastOwner(ownership, actor);
    await updateRole(tx, userId, businessId, newRole);
    // A former owner's invitations must not add members.
    await withdrawInvitationsOf(tx, { userId, businessId }, now);
    if (member.role === 'owner') await deleteHandoversOfMember(tx, { userId, businessId });
    // Only owners and admins are responsible for connections of the business.
    if (newRole === 'member') await moveToSuccessor(actor, tx, { member, businessId, ownership, now }, 'role changed');
    const detail = { from: member.role, to: newRole };
    const subject = auditedUser(member);
    await recordAudit(tx, { action: 'member.role_changed', actor, businessId, subject, detail }, now);
    return true;
  });
}

/** Needs a transaction. In this order everywhere: the business, its memberships, consents, grants. */
export async function lockMember(tx: Database, { userId, businessId }: Parties): Promise<Ownership> {
  await lockAppRulesForShare(tx, businessId);
  return lockOwnership(tx, { userId, businessId });
}
