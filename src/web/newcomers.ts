import type { FastifyRequest } from 'fastify';
import { findInvitation, type Invitation } from '../accounts/invitations.ts';
import { join } from '../accounts/joining.ts';
import { auditedUser, userActor } from '../accounts/user-acts.ts';
import { insertUser, prepareUser } from '../accounts/users.ts';
import { recordAudit } from '../audit/acts.ts';
import { FormError } from '../lib/errors.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import type { WebDeps } from './deps.ts';
import { type Form, text } from './forms.ts';
import { closedInvitation } from './invitation-pages.ts';
import { renewSession, type SignedIn } from './sign-in.ts';

const TAKEN =
  'There is an account with this email address already. Sign in with it to join. If you cannot, ask a platform admin for a link to set a new password.';

/**
 * Makes an account with the address of the invitation, and joins; both or neither. Whoever made the invitation vouches for
 * the address in their business only. Attempts are counted like those to sign in: each may tell whether the address has an
 * account, and hashes a password.
 */
export async function joinAsNewcomer(
  { storage, limits, clock }: WebDeps,
  request: FastifyRequest<{ Body: Form }>,
  { invitation, token }: { invitation: Invitation; token: string },
): Promise<SignedIn> {
  await limits.signInPerAddress.count(networkOf(request.ip));
  const form = request.body;
  const now = clock();
  const row = await prepareUser(
    {
      name: text(form, 'name'),
      email: invitation.email,
      password: text(form, 'password'),
      isPlatformAdmin: false,
      originBusinessId: invitation.businessId,
    },
    now,
  );
  const signedIn = await storage.transaction(async (db) => {
    const user = await insertUser(db, row);
    if (!user) throw new FormError('email', TAKEN);
    const by = userActor(user, request.ip);
    await recordAudit(db, { action: 'user.added', actor: by, businessId: null, subject: auditedUser(user) }, now);
    if (!(await join(db, { invitation, user, by }, now))) throw closedInvitation(await findInvitation(db, token), now);
    const started = await renewSession(db, request, { user, passwordHash: row.password_hash, means: 'password' }, now);
    if (!started) throw new Error('A user who has just been added cannot sign in.');
    return started;
  });
  await limits.signInPerAddress.refund(networkOf(request.ip));
  return signedIn;
}
