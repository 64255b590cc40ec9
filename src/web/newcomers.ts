import type { FastifyRequest } from 'fastify';
import { findInvitation, type Invitation } from '../accounts/invitations.ts';
import { join } from '../accounts/joining.ts';
import type { Session } from '../accounts/sessions.ts';
import { userActor, userSubject } from '../accounts/user-acts.ts';
import { insertUser, prepareUser } from '../accounts/users.ts';
import { recordAct } from '../audit/acts.ts';
import { FormError } from '../lib/errors.ts';
import { networkOf } from '../lib/networks.ts';
import { type Form, text } from './fields.ts';
import { closedInvitation } from './invitation-pages.ts';
import type { WebParts } from './parts.ts';
import { renewSession } from './sign-in.ts';

/**
 * Someone without an account makes one and joins, both or neither.
 * Attempts are counted like those to sign in: each may tell whether an email has an account, and hashes a password.
 */
export async function joinAsNewcomer(
  { storage, limits, clock }: WebParts,
  request: FastifyRequest<{ Body: Form }>,
  { invitation, token }: { invitation: Invitation; token: string },
): Promise<Session> {
  await limits.signInPerAddress.count(networkOf(request.ip));
  const form = request.body;
  const [name, email, password] = [text(form, 'name'), text(form, 'email'), text(form, 'password')];
  const now = clock();
  const row = await prepareUser({ name, email, password, isPlatformAdmin: false }, now);
  const session = await storage.atomically(async (db) => {
    const user = await insertUser(db, row);
    if (!user)
      throw new FormError(
        'email',
        'There is an account with this email address, or with one that looks like it, already. Sign in with it instead.',
      );
    const by = userActor(user, request.ip);
    await recordAct(db, { action: 'user.added', actor: by, businessId: null, subject: userSubject(user) }, now);
    if (!(await join(db, { invitation, by }, now))) throw closedInvitation(await findInvitation(db, token), now);
    const started = await renewSession(db, request, { user, proof: row.password_hash, means: 'password' }, now);
    if (!started) throw new Error('A user who has just been added cannot sign in.');
    return started;
  });
  await limits.signInPerAddress.giveBack(networkOf(request.ip));
  return session;
}
