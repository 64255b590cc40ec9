import { type Actor, recordAudit, type UserActor } from '../audit/entries.ts';
import { DAY } from '../lib/clock.ts';
import { readEmail } from '../lib/email-addresses.ts';
import { FormError } from '../lib/errors.ts';
import { isId } from '../lib/ids.ts';
import { hashSecret } from '../lib/secrets.ts';
import { retentionStep } from '../storage/retention.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { lockOwnership, mayManageMembers, type Role, readRole } from './memberships.ts';

/** A link with which the account of one email address can join a business. */
export interface Invitation {
  id: string;
  businessId: string;
  businessName: string;
  role: Role;
  email: string;
  inviterName: string;
  inviterDisabledAt: number | null;
  expiresAt: number;
  acceptedBy: string | null;
  acceptedAt: number | null;
  withdrawnAt: number | null;
}

export interface NewInvitation {
  /** Chosen when the form is shown, like the token: submitting the form twice creates one invitation. */
  id: string;
  token: string;
  businessId: string;
  role: string;
  email: string;
  /** The owner who invites. An operator creates invitations in the name of an owner. */
  inviter: { id: string; name: string };
}

type InvitationState = 'open' | 'used' | 'withdrawn' | 'expired';

const LIFETIME = 7 * DAY;
const MAX_OPEN = 100;

/** Expired invitations are kept for this long, so that their page can say why they do not work. */
const KEPT_FOR = 30 * DAY;

/** Undefined if the inviter is not an owner of the business. Ends earlier invitations of the same address. A second call with the same token returns the same invitation. */
export async function createInvitation(
  actor: Actor,
  db: Database,
  { id, token, businessId, inviter, ...invitation }: NewInvitation,
  now: number,
): Promise<Invitation | undefined> {
  return inTransaction(db, async (tx) => {
    const ownership = await lockOwnership(tx, { userId: inviter.id, businessId });
    if (!mayManageMembers(ownership, { kind: 'user', id: inviter.id })) return undefined;
    const [role, email] = [readRole(invitation.role), readEmail(invitation.email)];
    const existing = await findInvitation(tx, token);
    if (existing) return existing.businessId === businessId ? existing : undefined;
    await withdrawEarlier(actor, tx, { businessId, email }, now);
    await rejectTooMany(tx, businessId, now);
    await insertInvitation(tx, { id, token, businessId, role, email, inviter }, now);
    const detail = { role, ...(actor.id !== inviter.id && { in_the_name_of: inviter.name }) };
    await recordInvitationAudit(actor, tx, { action: 'member.invited', id, email, businessId, detail }, now);
    return findInvitation(tx, token);
  });
}

/** The lock on the owners prevents two invitations of one address from being created at the same time. */
async function withdrawEarlier(
  actor: Actor,
  db: Database,
  { businessId, email }: { businessId: string; email: string },
  now: number,
): Promise<void> {
  const earlier = await withdraw(db, now)
    .where('business_id', '=', businessId)
    .where('email', '=', email)
    .where('expires_at', '>', now)
    .returning(['id', 'role'])
    .execute();
  for (const { id, role } of earlier) {
    const entry = { action: 'member.invitation_withdrawn', id, email, businessId, detail: { role } } as const;
    await recordInvitationAudit(actor, db, entry, now);
  }
}

async function insertInvitation(db: Database, invitation: NewInvitation & { role: Role }, now: number): Promise<void> {
  await db
    .insertInto('invitations')
    .values({
      id: invitation.id,
      business_id: invitation.businessId,
      role: invitation.role,
      email: invitation.email,
      token_hash: hashSecret(invitation.token),
      invited_by: invitation.inviter.id,
      created_at: now,
      expires_at: now + LIFETIME,
      accepted_by: null,
      accepted_at: null,
      withdrawn_at: null,
    })
    .execute();
}

interface InvitationEntry {
  action: 'member.invited' | 'member.invitation_withdrawn';
  id: string;
  email: string;
  businessId: string;
  detail: Record<string, string>;
}

async function recordInvitationAudit(
  actor: Actor,
  db: Database,
  { action, id, email, businessId, detail }: InvitationEntry,
  now: number,
): Promise<void> {
  const subject = { kind: 'invitation' as const, id, name: email };
  await recordAudit(db, { action, actor, businessId, subject, detail }, now);
}

async function rejectTooMany(db: Database, businessId: string, now: number): Promise<void> {
  if ((await countOpenInvitations(db, businessId, now)) < MAX_OPEN) return;
  throw new FormError('email', `${MAX_OPEN} invitations are open already. Withdraw one that is not needed.`);
}

/** Undefined if there is no such invitation, or if the actor is not an owner. One that was used or expired stays as it is. */
export async function withdrawInvitation(
  actor: UserActor,
  db: Database,
  { id, businessId }: { id: string; businessId: string },
  now: number,
): Promise<Invitation | undefined> {
  if (!isId(id)) return undefined;
  return inTransaction(db, async (tx) => {
    const ownership = await lockOwnership(tx, { userId: actor.id, businessId });
    if (!mayManageMembers(ownership, actor)) return undefined;
    const update = withdraw(tx, now).where('id', '=', id).where('business_id', '=', businessId);
    const { numUpdatedRows } = await update.executeTakeFirstOrThrow();
    const invitation = await selectInvitations(tx)
      .where('invitations.id', '=', id)
      .where('invitations.business_id', '=', businessId)
      .executeTakeFirst();
    if (invitation && numUpdatedRows === 1n) {
      const { email, role } = invitation;
      const entry = { action: 'member.invitation_withdrawn', id, email, businessId, detail: { role } } as const;
      await recordInvitationAudit(actor, tx, entry, now);
    }
    return invitation;
  });
}

/** Called when an owner leaves or loses the role. */
export async function withdrawInvitationsOf(
  db: Database,
  { userId, businessId }: { userId: string; businessId: string },
  now: number,
): Promise<void> {
  await withdraw(db, now).where('invited_by', '=', userId).where('business_id', '=', businessId).execute();
}

/** Atomic: the conditional UPDATE succeeds for one caller only. */
export async function markAccepted(
  db: Database,
  { id, userId }: { id: string; userId: string },
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('invitations')
    .set({ accepted_by: userId, accepted_at: now })
    .where('id', '=', id)
    .where('accepted_at', 'is', null)
    .where('withdrawn_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

export async function findInvitation(db: Database, token: string): Promise<Invitation | undefined> {
  return selectInvitations(db).where('invitations.token_hash', '=', hashSecret(token)).executeTakeFirst();
}

export async function findInvitationById(db: Database, id: string): Promise<Invitation | undefined> {
  return selectInvitations(db).where('invitations.id', '=', id).executeTakeFirst();
}

/** While the inviter is disabled, it counts as withdrawn. */
export function invitationState(invitation: Invitation, now: number): InvitationState {
  if (invitation.acceptedAt !== null) return 'used';
  if (invitation.withdrawnAt !== null || invitation.inviterDisabledAt !== null) return 'withdrawn';
  return now < invitation.expiresAt ? 'open' : 'expired';
}

export async function countOpenInvitations(db: Database, businessId: string, now: number): Promise<number> {
  const { open } = await db
    .selectFrom('invitations')
    .select(({ fn }) => fn.countAll().as('open'))
    .where('business_id', '=', businessId)
    .where('accepted_at', 'is', null)
    .where('withdrawn_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  return Number(open);
}

export const oldInvitations = retentionStep('invitations', ['id'], 'expires_at', (now) => now - KEPT_FOR);

/** Returns the number of invitations, of all businesses. */
export async function withdrawAllInvitations(db: Database, now: number): Promise<number> {
  const { numUpdatedRows } = await withdraw(db, now).where('expires_at', '>', now).executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

function withdraw(db: Database, now: number) {
  return db
    .updateTable('invitations')
    .set({ withdrawn_at: now })
    .where('accepted_at', 'is', null)
    .where('withdrawn_at', 'is', null);
}

export function selectInvitations(db: Database) {
  return db
    .selectFrom('invitations')
    .innerJoin('businesses', 'businesses.id', 'invitations.business_id')
    .innerJoin('users', 'users.id', 'invitations.invited_by')
    .select([
      'invitations.id as id',
      'invitations.business_id as businessId',
      'businesses.name as businessName',
      'invitations.role as role',
      'invitations.email as email',
      'users.name as inviterName',
      'users.disabled_at as inviterDisabledAt',
      'invitations.expires_at as expiresAt',
      'invitations.accepted_by as acceptedBy',
      'invitations.accepted_at as acceptedAt',
      'invitations.withdrawn_at as withdrawnAt',
    ]);
}
