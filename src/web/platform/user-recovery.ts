import type { FastifyInstance } from 'fastify';
import { createPasswordLink } from '../../accounts/password-links.ts';
import { auditedUser } from '../../accounts/user-acts.ts';
import { findUser, markEmailVerified, type User } from '../../accounts/users.ts';
import { recordAudit } from '../../audit/acts.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { forbidden, notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, postForm } from '../forms.ts';
import { loadPageContext } from '../page-context.ts';
import { passwordLinkBody } from '../password-link.ts';
import { actorOf } from '../session.ts';
import { sendPlatformPage } from './page.ts';

const USERS = '/platform/users';
type ForUser = { Params: { id: string }; Body: Form | undefined };

/** How a platform admin gives an account back to its owner. */
export function mountUserRecovery(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, consentUrl } = deps;

  host.post<ForUser>(`${USERS}/:id/password-link`, access('platform_admin'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const user = await findUser(storage.durable, request.params.id);
    if (!user) throw notFound();
    const wanted = { userId: user.id, by: actorOf(request), businessId: null };
    const made = await storage.transaction((db) => createPasswordLink(db, wanted, clock()));
    if (!made) throw forbidden('You cannot create a link for yourself. Another platform admin can.');
    const link = `${consentUrl}/password/${made.token}`;
    const body = html`${passwordLinkBody({ name: user.name, link, expiresAt: made.expiresAt })}
<p><a class="button secondary" href="${USERS}/${user.id}">Back to the user</a></p>`;
    return sendPlatformPage(reply, deps, { context, title: 'The link is ready', body });
  });

  host.post<ForUser>(`${USERS}/:id/verify-email`, access('platform_admin'), async (request, reply) => {
    await storage.transaction(async (db) => {
      const user = await findUser(db, request.params.id);
      if (!user) throw notFound();
      if (!(await markEmailVerified(db, user.id, clock()))) return;
      const act = { action: 'user.email_verified', actor: actorOf(request), businessId: null } as const;
      await recordAudit(db, { ...act, subject: auditedUser(user) }, clock());
    });
    return redirectWithFlash(reply, `${USERS}/${request.params.id}`, 'email_verified');
  });
}

export function recoverySection(user: User, { isYou, csrf }: { isYou: boolean; csrf: string }): Html {
  const path = `${USERS}/${user.id}`;
  const link = postForm({
    action: `${path}/password-link`,
    csrf,
    body: html`<button class="secondary">Create password link</button>`,
  });
  const verify = postForm({
    action: `${path}/verify-email`,
    csrf,
    body: html`<button class="secondary">Mark address as verified</button>`,
  });
  return html`${
    !isYou &&
    html`<section class="card"><h2>Forgotten password</h2>
<p>A one-time link lets the user set a new password. It removes their passkeys, signs them out everywhere, and verifies the address that you send it to.</p>
${link}</section>`
  }
${
  user.emailVerifiedAt === null &&
  html`<section class="card"><h2>Address not verified</h2>
<p>The account was made with an invitation, and anyone who had it could have made it. Until the address is verified, the account cannot join another business.</p>
<p>If you are not sure who uses the account, send a password link to the address instead: that signs everyone else out.</p>
${verify}</section>`
}`;
}
