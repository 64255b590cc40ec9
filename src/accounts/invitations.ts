import { type Actor, recordAudit, type UserActor } from '../audit/acts.ts';
import { DAY } from '../lib/clock.ts';
import { readEmail } from '../lib/email-addresses.ts';
import { FormError } from '../lib/errors.ts';
import { isId } from '../lib/ids.ts';
import { hashSecret } from '../lib/secrets.ts';
import type { Database } from '../storage/storage.ts';
import { type Role, readRole } from './memberships.ts';
import { isDecidedByOwner, lockOwnership } from './ownership.ts';

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

interface NewInvitation {
  /** Chosen beforehand by a form, like the token, so that sending it twice invites once. */
  id: string;
  token: string;
  businessId: string;
  role: string;
  email: string;
  /** In whose name. */
  by: UserActor;
  /** Who makes it for them, if not they themselves. */
  actor?: Actor;
}

export type InvitationState = 'open' | 'used' | 'withdrawn' | 'expired';

const LIFETIME = 7 * DAY;
const MOST_OPEN = 100;

/** Kept for so long after it expired, so that a late visitor hears why it does not work. */
const KEPT_FOR = 30 * DAY;

/** Needs a transaction. Undefined if it is not for this one to invite. Asked twice, it is the same invitation. */
export async function createInvitation(
  db: Database,
  invitation: NewInvitation,
  now: number,
): Promise<Invitation | undefined> {
  const { id, businessId, by } = invitation;
  const ownership = await lockOwnership(db, { userId: by.id, businessId });
  if (!isDecidedByOwner(ownership, by)) return undefined;
  const [role, email] = [readRole(invitation.role), readEmail(invitation.email)];
  const made = await findInvitation(db, invitation.token);
  if (made) return made.businessId === businessId ? made : undefined;
  await rejectTooMany(db, businessId, now);
  await db
    .insertInto('invitations')
    .values({
      id,
      business_id: businessId,
      role,
      email,
      token_hash: hashSecret(invitation.token),
      invited_by: by.id,
      created_at: now,
      expires_at: now + LIFETIME,
      accepted_by: null,
      accepted_at: null,
      withdrawn_at: null,
    })
    .execute();
  await recordInvitation(db, { ...invitation, role, email }, now);
  return findInvitation(db, invitation.token);
}

async function recordInvitation(
  db: Database,
  { id, businessId, role, email, by, actor = by }: NewInvitation,
  now: number,
): Promise<void> {
  const subject = { kind: 'invitation' as const, id, name: email };
  const detail = { role, ...(actor !== by && { in_the_name_of: by.name }) };
  await recordAudit(db, { action: 'member.invited', actor, businessId, subject, detail }, now);
}

async function rejectTooMany(db: Database, businessId: string, now: number): Promise<void> {
  if ((await countOpenInvitations(db, businessId, now)) < MOST_OPEN) return;
  throw new FormError('email', `${MOST_OPEN} invitations are open already. Withdraw one that is not needed.`);
}

/** Needs a transaction. Undefined if there is none, or if it is not for this one to withdraw. */
export async function withdrawInvitation(
  db: Database,
  { id, businessId, by }: { id: string; businessId: string; by: UserActor },
  now: number,
): Promise<Invitation | undefined> {
  const ownership = await lockOwnership(db, { userId: by.id, businessId });
  if (!isDecidedByOwner(ownership, by) || !isId(id)) return undefined;
  const { numUpdatedRows } = await withdraw(db, now)
    .where('id', '=', id)
    .where('business_id', '=', businessId)
    .executeTakeFirstOrThrow();
  const invitation = await selectInvitations(db)
    .where('invitations.id', '=', id)
    .where('invitations.business_id', '=', businessId)
    .executeTakeFirst();
  if (invitation && numUpdatedRows === 1n) {
    const subject = { kind: 'invitation' as const, id, name: invitation.email };
    const detail = { role: invitation.role };
    await recordAudit(db, { action: 'member.invitation_withdrawn', actor: by, businessId, subject, detail }, now);
  }
  return invitation;
}

/** What an owner has not yet handed out ends with the right to do so. */
export async function withdrawInvitationsOf(
  db: Database,
  { userId, businessId }: { userId: string; businessId: string },
  now: number,
): Promise<void> {
  await withdraw(db, now).where('invited_by', '=', userId).where('business_id', '=', businessId).execute();
}

/** True for exactly one caller: the row itself decides who was first. */
export async function acceptInvitation(
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

/** While whoever made it is disabled, it is as good as withdrawn. */
export function stateOf(invitation: Invitation, now: number): InvitationState {
  if (invitation.acceptedAt !== null) return 'used';
  if (invitation.withdrawnAt !== null || invitation.inviterDisabledAt !== null) return 'withdrawn';
  return now < invitation.expiresAt ? 'open' : 'expired';
}

/** Those of a business that can still be used, the newest first. */
export async function listOpenInvitations(
  db: Database,
  businessId: string,
  { after, limit }: { after: string | undefined; limit: number },
  now: number,
): Promise<Invitation[]> {
  let query = selectInvitations(db)
    .where('invitations.business_id', '=', businessId)
    .where('invitations.accepted_at', 'is', null)
    .where('invitations.withdrawn_at', 'is', null)
    .where('invitations.expires_at', '>', now);
  if (after) query = query.where('invitations.id', '<', after);
  return query.orderBy('invitations.id', 'desc').limit(limit).execute();
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

export async function removeOldInvitations(db: Database, limit: number, now: number): Promise<number> {
  const old = db
    .selectFrom('invitations')
    .select('id')
    .where('expires_at', '<=', now - KEPT_FOR)
    .orderBy('expires_at')
    .limit(limit);
  const result = await db.deleteFrom('invitations').where('id', 'in', old).executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** Everyone's that is still open. Says how many there were. */
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

function selectInvitations(db: Database) {
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
