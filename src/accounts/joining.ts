import { type Actor, recordAudit } from '../audit/entries.ts';
import { emailSkeleton, readEmail } from '../lib/email-addresses.ts';
import { FormError } from '../lib/errors.ts';
import { readPublicName } from '../lib/names.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { type Invitation, invitationState, markAccepted } from './invitations.ts';
import type { LinkSource } from './mailed-invitations.ts';
import { findMembership, insertMembership } from './memberships.ts';
import { type NewUser, newUserRow } from './new-users.ts';
import { hashNewPassword } from './passwords.ts';
import type { Device, SignedIn } from './sessions.ts';
import { signIn } from './sign-in.ts';
import {
  auditedUser,
  insertUser,
  recordUserAudit,
  setCurrentBusiness,
  type User,
  userActor,
  verifyEmail,
} from './users.ts';

interface FirstMembership {
  businessId: string;
  role: string;
}

/** Adds a user whose address the actor vouches for, as a member of a business or of none. */
export async function addUser(
  actor: Actor,
  db: Database,
  { membership, ...user }: NewUser & { membership?: FirstMembership | undefined },
  now: number,
): Promise<User> {
  const row = await buildUserRow(user, now);
  return inTransaction(db, async (tx) => {
    const added = await insertUser(tx, row);
    if (!added) {
      throw new FormError('email', 'There is already a user with this email address, or with one that looks like it.');
    }
    await recordUserAudit(actor, tx, { action: 'user.added', user: added }, now);
    if (membership) await addMember(actor, tx, { user: added, ...membership }, now);
    return added;
  });
}

/** Slow by design, since it hashes the password: call it before a transaction, not inside. */
async function buildUserRow(user: NewUser & { originBusinessId?: string }, now: number): Promise<Row<'users'>> {
  const email = readEmail(user.email);
  const name = readPublicName('name', user.name);
  const passwordHash = await hashNewPassword({ email }, user.password);
  return newUserRow({ ...user, email, name, passwordHash }, now);
}

export async function addMember(
  actor: Actor,
  db: Database,
  { user, businessId, role }: FirstMembership & { user: User },
  now: number,
): Promise<void> {
  if (!mayJoin(user, businessId)) {
    throw new FormError(
      'user',
      'The email address of this user is not verified. Send them a link with user password-link, or use user verify-email.',
    );
  }
  await inTransaction(db, async (tx) => {
    await insertMembership(tx, { userId: user.id, businessId, role }, now);
    await recordAudit(
      tx,
      { action: 'member.added', actor, businessId, subject: auditedUser(user), detail: { role } },
      now,
    );
  });
}

/** Why an account cannot accept an invitation. */
export type JoinProblem = 'another address' | 'address not verified';

/** An invitation is for one address. */
export function findJoinProblem(
  user: User,
  { email, businessId }: Invitation,
  source: LinkSource = 'shown',
): JoinProblem | undefined {
  if (emailSkeleton(user.email) !== emailSkeleton(email)) return 'another address';
  if (!mayJoin(user, businessId) && !verifiesAddress(user, email, source)) return 'address not verified';
  return undefined;
}

/** Not for an address that only looks like it: the mail was sent to another mailbox. */
function verifiesAddress({ email }: User, invited: string, source: LinkSource): boolean {
  return source === 'mailed' && email === invited;
}

/**
 * An account with an unverified address was created with an invitation, possibly by someone other than the owner of the
 * address. It can belong to the inviting business only.
 */
function mayJoin({ emailVerifiedAt, originBusinessId }: User, businessId: string): boolean {
  return emailVerifiedAt !== null || originBusinessId === businessId;
}

/** False if the invitation can no longer be used. It stays open if the user is a member already. */
export async function acceptInvitation(
  actor: Actor,
  db: Database,
  { invitation, user, source }: { invitation: Invitation; user: User; source: LinkSource },
  now: number,
): Promise<boolean> {
  const { id, businessId, businessName, role, email } = invitation;
  return inTransaction(db, async (tx) => {
    if (await findMembership(tx, user.id, businessId)) {
      throw new FormError('member', (problems) => problems.alreadyMember(businessName));
    }
    const joinProblem = findJoinProblem(user, invitation, source);
    if (joinProblem === 'another address') throw new FormError('member', (problems) => problems.otherAddress);
    if (joinProblem) throw new FormError('member', (problems) => problems.addressNotVerified);
    if (invitationState(invitation, now) !== 'open') return false;
    if (!(await markAccepted(tx, { id, userId: user.id }, now))) return false;
    if (verifiesAddress(user, email, source)) await verifyEmail(actor, tx, { user, businessId }, now);
    await insertMembership(tx, { userId: user.id, businessId, role }, now);
    await setCurrentBusiness(tx, user.id, businessId);
    const detail = { role, invitation: email };
    await recordAudit(tx, { action: 'member.joined', actor, businessId, subject: auditedUser(user), detail }, now);
    return true;
  });
}

interface Registration {
  invitation: Invitation;
  source: LinkSource;
  name: string;
  password: string;
  device: Device;
  /** For mails that no page causes, until the user chooses another one. Null for the default. */
  language: string | null;
}

/** Creates an account with the address of the invitation, joins, and signs in. Undefined if the invitation can no longer be used. */
export async function joinAsNewUser(
  db: Database,
  { invitation, source, name, password, device, language }: Registration,
  now: number,
): Promise<SignedIn | undefined> {
  const { email, businessId: originBusinessId } = invitation;
  const row = await buildUserRow({ name, email, password, isPlatformAdmin: false, originBusinessId, language }, now);
  return inTransaction(db, async (tx) => {
    const user = await insertUser(tx, row);
    if (!user) throw new FormError('email', (problems) => problems.addressTaken);
    const actor = userActor(user, device.address);
    await recordUserAudit(actor, tx, { action: 'user.added', user }, now);
    if (!(await acceptInvitation(actor, tx, { invitation, user, source }, now))) throw new InvitationClosed();
    const attempt = { user, passwordHash: row.password_hash, device, previous: undefined, isKnownBrowser: true };
    const signedIn = await signIn(tx, attempt, now);
    if (!signedIn || signedIn === 'second_step') throw new Error('A user who has just been added cannot sign in.');
    return signedIn;
  }).catch((error) => {
    if (error instanceof InvitationClosed) return undefined;
    throw error;
  });
}

/** Rolls back the transaction: without the invitation there must be no account. */
class InvitationClosed extends Error {}
