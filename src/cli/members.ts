import { findBusiness } from '../accounts/businesses.ts';
import { createInvitation, type Invitation } from '../accounts/invitations.ts';
import { mayJoin } from '../accounts/joining.ts';
import { findMembership, insertMembership, listMembers } from '../accounts/memberships.ts';
import { changeRole } from '../accounts/ownership.ts';
import { auditedUser, userActor } from '../accounts/user-acts.ts';
import { findUser, type User } from '../accounts/users.ts';
import { OPERATOR, recordAudit } from '../audit/acts.ts';
import { readConsentUrl } from '../config.ts';
import { depart } from '../grants/member-removal.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { newSecret } from '../lib/secrets.ts';
import type { Database } from '../storage/storage.ts';
import { type Command, type Options, required, withStorage } from './command.ts';

const USER = { value: 'ID', help: 'The user’s id', required: true };
const BUSINESS = { value: 'ID', help: 'The business’s id', required: true };
const ROLE = { value: 'ROLE', help: 'owner, admin or member', required: true };

/** More than any business has. */
const EVERYONE = 1_000_000;

export const memberCommands: Command[] = [
  {
    name: 'member list',
    summary: 'List the members of a business',
    options: { business: BUSINESS },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const business = required(await findBusiness(durable, options.text('business')), 'business', 'business');
        const everyone = { search: '', after: undefined, limit: EVERYONE };
        return { members: await listMembers(durable, business.id, everyone) };
      }),
  },
  {
    name: 'member invite',
    summary: 'Create a link with which one email address can join a business; prints it, this once',
    options: {
      business: BUSINESS,
      role: ROLE,
      by: { value: 'ID', help: 'The owner of the business in whose name it is', required: true },
      email: { value: 'EMAIL', help: 'The address that it is for; no other account can use it', required: true },
    },
    run: (options, env) => {
      const consentUrl = readConsentUrl(env);
      return withStorage(env, ({ transaction }) =>
        transaction(async (db) => {
          const token = newSecret();
          const { inviterDisabledAt: _, ...invitation } = await inviteAsOperator(db, options, token);
          return { ...invitation, link: `${consentUrl}/invitation/${token}` };
        }),
      );
    },
  },
  {
    name: 'member add',
    summary: 'Make a user a member of a business',
    options: { user: USER, business: BUSINESS, role: ROLE },
    run: (options, env) =>
      withStorage(env, ({ transaction }) =>
        transaction(async (db) => {
          const { user, businessId } = await findParties(db, options);
          requireVerified(user, businessId);
          await addMemberAsOperator(db, { user, businessId, role: options.text('role') }, systemClock());
          return findMembership(db, user.id, businessId);
        }),
      ),
  },
  {
    name: 'member set-role',
    summary: 'Change what a member may do',
    options: { user: USER, business: BUSINESS, role: ROLE },
    run: (options, env) =>
      withStorage(env, ({ transaction }) =>
        transaction(async (db) => {
          const { user, businessId } = await findParties(db, options);
          const change = { userId: user.id, businessId, role: options.text('role'), by: OPERATOR };
          await changeRole(db, change, systemClock());
          return required(await findMembership(db, user.id, businessId), 'user', 'member of this business');
        }),
      ),
  },
  {
    name: 'member remove',
    summary: 'Take a user out of a business; what they allowed there ends at once',
    options: { user: USER, business: BUSINESS },
    run: (options, env) =>
      withStorage(env, ({ transaction }) =>
        transaction(async (db) => {
          const { user, businessId } = await findParties(db, options);
          const removed = await depart(db, { userId: user.id, businessId, by: OPERATOR }, systemClock());
          const result = removed ? { userId: user.id, businessId, removed } : undefined;
          return required(result, 'user', 'member of this business');
        }),
      ),
  },
];

/** Someone else may have made the account, in a business of theirs. */
function requireVerified(user: User, businessId: string): void {
  if (mayJoin(user, businessId)) return;
  throw new FormError(
    'user',
    'Nobody has verified the email address of this user. Send them a link by user password-link, or use user verify-email.',
  );
}

/** Needs a transaction. */
export async function addMemberAsOperator(
  db: Database,
  { user, businessId, role }: { user: User; businessId: string; role: string },
  now: number,
): Promise<void> {
  await insertMembership(db, { userId: user.id, businessId, role }, now);
  const subject = auditedUser(user);
  await recordAudit(db, { action: 'member.added', actor: OPERATOR, businessId, subject, detail: { role } }, now);
}

async function inviteAsOperator(db: Database, options: Options, token: string): Promise<Invitation> {
  const now = systemClock();
  const business = required(await findBusiness(db, options.text('business')), 'business', 'business');
  const inviter = required(await findUser(db, options.text('by')), 'by', 'user');
  const wanted = {
    id: newId(now),
    token,
    businessId: business.id,
    role: options.text('role'),
    email: options.text('email'),
    by: userActor(inviter, null),
    actor: OPERATOR,
  };
  return required(await createInvitation(db, wanted, now), 'by', 'owner of this business who can sign in');
}

async function findParties(db: Database, options: Options) {
  const user = required(await findUser(db, options.text('user')), 'user', 'user');
  const business = required(await findBusiness(db, options.text('business')), 'business', 'business');
  return { user, businessId: business.id };
}
