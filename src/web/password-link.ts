import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findPasswordLink, type PasswordLink, usePasswordLink } from '../accounts/password-links.ts';
import { auditedUser, userActor } from '../accounts/user-acts.ts';
import { hashNewPassword, markEmailVerified } from '../accounts/users.ts';
import { recordAudit } from '../audit/acts.ts';
import { resetAccount } from '../grants/account-reset.ts';
import { type Html, html } from '../lib/html.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import type { Database } from '../storage/storage.ts';
import { access } from './access.ts';
import type { WebDeps } from './deps.ts';
import { PageError } from './errors.ts';
import { redirectWithFlash } from './flash.ts';
import { copyable, type Form, input, type Problem, postForm, text, time, tryRateLimitedForm } from './forms.ts';
import { sendPage } from './layout.ts';

type ForLink = { Params: { token: string }; Body: Form };

/** A one-time link leads to a form for a new password. It signs nobody in: that is what the password is for. */
export function mountPasswordLink(host: FastifyInstance, deps: WebDeps): void {
  host.get<ForLink>('/password/:token', access('anyone'), async (request, reply) => {
    return show(deps, request, reply, await requireLink(deps, request.params.token));
  });

  host.post<ForLink>('/password/:token', access('anyone'), async (request, reply) => {
    const link = await requireLink(deps, request.params.token);
    const set = async () => {
      await setPassword(deps, request, link);
      return redirectWithFlash(reply, '/sign-in', 'password_set');
    };
    return tryRateLimitedForm(reply, set, (problem, status) => show(deps, request, reply, link, { problem, status }));
  });
}

async function requireLink({ storage, clock }: WebDeps, token: string): Promise<PasswordLink> {
  const link = await findPasswordLink(storage.durable, token, clock());
  if (!link) throw closedLink();
  return link;
}

/** One answer for an unknown, used, replaced and expired link, so that it says nothing about any account. */
function closedLink(): PageError {
  const sentence =
    'A link to set a new password works once, for 24 hours, and ends when a newer one is made or the password changes. Ask for a new one.';
  return new PageError(404, 'This link does not work', sentence);
}

/** Hashing is slow on purpose, so attempts are limited like those to sign in. */
async function setPassword(deps: WebDeps, request: FastifyRequest<ForLink>, { user }: PasswordLink): Promise<void> {
  const { storage, limits, clock } = deps;
  await limits.signInPerAddress.count(networkOf(request.ip));
  const hash = await hashNewPassword(user, text(request.body, 'password'));
  const endsGrants = text(request.body, 'end_grants') === 'yes';
  await storage.transaction(async (db) => {
    const used = await usePasswordLink(db, request.params.token, clock());
    if (!used) throw closedLink();
    await resetAccount(db, { userId: user.id, hash, endsGrants }, clock());
    await recordReset(db, { link: used, address: request.ip, endsGrants }, clock());
  });
  await limits.signInPerAddress.refund(networkOf(request.ip));
}

interface Reset {
  link: PasswordLink;
  address: string;
  endsGrants: boolean;
}

/** An owner vouches for an address in their business only, so their link does not verify it. */
async function recordReset(db: Database, { link, address, endsGrants }: Reset, now: number): Promise<void> {
  const { user, maker } = link;
  const act = { actor: userActor(user, address), businessId: maker.businessId, subject: auditedUser(user) };
  const detail = {
    link_by: maker.kind === 'user' ? maker.name : maker.kind,
    apps: endsGrants ? 'disconnected' : 'kept',
  };
  await recordAudit(db, { ...act, action: 'user.password_reset', detail }, now);
  if (maker.kind !== 'user' && (await markEmailVerified(db, user.id, now))) {
    await recordAudit(db, { ...act, action: 'user.email_verified' }, now);
  }
}

async function show(
  { platformName }: WebDeps,
  request: FastifyRequest<ForLink>,
  reply: FastifyReply,
  { user, expiresAt }: PasswordLink,
  { problem, status = 200 }: { problem?: Problem; status?: number } = {},
): Promise<FastifyReply> {
  const keepsGrants = problem !== undefined && text(request.body, 'end_grants') !== 'yes';
  const body = html`<div class="card"><h1>Set a new password</h1>
<p>For the account <strong>${user.email}</strong>. This link works once, until ${time(expiresAt)}.</p>
<p class="muted">Your passkeys are removed, and every browser is signed out.</p>
${postForm({
  action: `/password/${encodeURIComponent(request.params.token)}`,
  csrf: request.csrfToken,
  body: html`<input type="hidden" name="username" autocomplete="username" value="${user.email}">
${input({ name: 'password', label: 'New password', type: 'password', hint: 'At least 8 characters.', autocomplete: 'new-password', focus: true }, problem)}
<label class="choice"><input type="checkbox" name="end_grants" value="yes" ${!keepsGrants && html`checked`}><span>Disconnect all apps<br><span class="muted small">Recommended: someone else may have connected apps to your account. You can connect yours again.</span></span></label>
<button class="primary wide">Set password</button>`,
})}</div>`;
  return sendPage(
    reply,
    { title: 'Set a new password', platformName, width: 'narrow', runsScript: true, body },
    { status },
  );
}

/** Shown once, to the person who created the link. */
export function passwordLinkBody({ name, link, expiresAt }: { name: string; link: string; expiresAt: number }): Html {
  return html`<h1>The link is ready</h1>
<section class="card"><h2>Send this link to ${name}</h2>
<p class="notice warn"><strong>Copy it now.</strong> It is not shown again.</p>
<p>${copyable('password-link', link)}</p>
<p class="muted">It works once, until ${time(expiresAt)} (24 hours). Anyone who has it can take over the account, so make sure that it reaches ${name} and nobody else. ${name} will see on their account page that you created it.</p></section>`;
}
