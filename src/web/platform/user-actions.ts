import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { listSolelyOwned } from '../../accounts/ownership.ts';
import { createPasswordLink } from '../../accounts/password-links.ts';
import { countSessions } from '../../accounts/sessions.ts';
import { findUser, type User, verifyEmail } from '../../accounts/users.ts';
import { countAffected, type Impact } from '../../grants/impact.ts';
import { disableUser, enableUser } from '../../grants/suspension.ts';
import { endConnectionsOfUser } from '../../grants/user-connections.ts';
import { type Html, html } from '../../lib/html.ts';
import type { Database } from '../../storage/storage.ts';
import { access } from '../access.ts';
import { pluralize } from '../components/product.ts';
import { dangerZone, question, settings } from '../components/structure.ts';
import { connectedText, endConnectionsAction, endConnectionsQuestion } from '../connection-ends.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, type Problem, postForm, problemText, text, time, tryForm } from '../forms.ts';
import { loadPageContext } from '../page-context.ts';
import { noPasswordLinkBody, passwordLinkBody } from '../password-link.ts';
import { actorOf, requireRecentSignIn } from '../session.ts';
import { readReasonField, reasonField, reasonText, sendPlatformPage } from './page.ts';

export const PATH = '/platform/users';
export type UserRoute = { Params: { id: string }; Body: Form | undefined };

/** What a platform admin can do to a user. */
export function mountUserActions(host: FastifyInstance, deps: WebDeps): void {
  for (const mount of [mountDisable, mountRecovery, mountEndOfConnections]) mount(host, deps);
}

function mountEndOfConnections(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  const load = async (request: FastifyRequest<UserRoute>) => {
    const user = await requireUser(storage.durable, request.params.id);
    const path = `${PATH}/${user.id}/end-connections`;
    requireRecentSignIn(request, path, clock());
    return { user, path };
  };

  host.get<UserRoute>(`${PATH}/:id/end-connections`, access('platform_admin'), async (request, reply) => {
    const { user, path } = await load(request);
    const context = await loadPageContext(deps, request);
    const impact = await countAffected(storage.durable, { userId: user.id }, clock());
    const back = { to: `${PATH}/${user.id}`, name: user.name };
    const asked = endConnectionsQuestion({ name: user.name, path, back, impact, csrf: context.csrf });
    return sendPlatformPage(reply, deps, { context, ...asked });
  });

  host.post<UserRoute>(`${PATH}/:id/end-connections`, access('platform_admin'), async (request, reply) => {
    const { user } = await load(request);
    await endConnectionsOfUser(actorOf(request), storage.durable, user, clock());
    return redirectWithFlash(reply, `${PATH}/${user.id}`, 'connections_ended');
  });
}

function mountDisable(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;

  host.get<UserRoute>(`${PATH}/:id/disable`, access('platform_admin'), async (request, reply) => {
    const user = await requireUser(storage.durable, request.params.id);
    if (user.disabledAt !== null) return reply.redirect(`${PATH}/${user.id}`, 303);
    return showDisable(deps, request, reply, user);
  });

  host.post<UserRoute>(`${PATH}/:id/disable`, access('platform_admin'), async (request, reply) => {
    const user = await requireUser(storage.durable, request.params.id);
    const disable = async () => {
      const reason = readReasonField(request.body);
      if (!(await disableUser(actorOf(request), storage.durable, { user, reason }, clock()))) throw notFound();
      return redirectWithFlash(reply, `${PATH}/${user.id}`, 'user_disabled');
    };
    return tryForm(disable, (problem) => showDisable(deps, request, reply, user, problem));
  });

  host.post<UserRoute>(`${PATH}/:id/enable`, access('platform_admin'), async (request, reply) => {
    const user = await requireUser(storage.durable, request.params.id);
    await enableUser(actorOf(request), storage.durable, user, clock());
    return redirectWithFlash(reply, `${PATH}/${user.id}`, 'user_enabled');
  });
}

async function showDisable(
  deps: WebDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  problem?: Problem,
): Promise<FastifyReply> {
  const context = await loadPageContext(deps, request);
  const solelyOwned = await listSolelyOwned(deps.storage.durable, user.id);
  const typed = text((request.body ?? {}) as Form, 'reason');
  const impact = await loadUserImpact(deps, user);
  const body = disableBody(user, { ...impact, solelyOwned, typed, csrf: context.csrf, problem });
  return sendPlatformPage(reply, deps, { context, title: `Disable ${user.name}`, body, status: problem ? 400 : 200 });
}

function mountRecovery(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, consentUrl } = deps;

  host.post<UserRoute>(`${PATH}/:id/password-link`, access('platform_admin'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const user = await requireUser(storage.durable, request.params.id);
    requireRecentSignIn(request, `${PATH}/${user.id}`, clock());
    const newLink = { userId: user.id, businessId: null };
    const created = await createPasswordLink(actorOf(request), storage.durable, newLink, clock());
    const back = { to: `${PATH}/${user.id}`, name: user.name };
    if (!created) {
      const sentence = 'You cannot create a link for yourself. Another platform admin can.';
      const body = noPasswordLinkBody({ sentence, back });
      return sendPlatformPage(reply, deps, { context, title: 'You cannot create this link', body, status: 403 });
    }
    const link = `${consentUrl}/password/${created.token}`;
    const body = passwordLinkBody({ user, link, expiresAt: created.expiresAt, back });
    return sendPlatformPage(reply, deps, { context, title: 'The link is ready', body });
  });

  host.post<UserRoute>(`${PATH}/:id/verify-email`, access('platform_admin'), async (request, reply) => {
    const user = await requireUser(storage.durable, request.params.id);
    await verifyEmail(actorOf(request), storage.durable, { user }, clock());
    return redirectWithFlash(reply, `${PATH}/${user.id}`, 'email_verified');
  });
}

export async function requireUser(db: Database, id: string): Promise<User> {
  const user = await findUser(db, id);
  if (!user) throw notFound();
  return user;
}

/** What stops if the user is disabled. */
export interface UserImpact {
  sessions: number;
  impact: Impact;
}

export async function loadUserImpact({ storage, clock }: WebDeps, user: User): Promise<UserImpact> {
  return {
    sessions: await countSessions(storage.durable, user.id, clock()),
    impact: await countAffected(storage.durable, { userId: user.id }, clock()),
  };
}

export function recoverySection(user: User, { isYou, csrf }: { isYou: boolean; csrf: string }): Html {
  const path = `${PATH}/${user.id}`;
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
    settings({
      title: 'Forgotten password',
      intro:
        'A one-time link lets the user set a new password. It removes their passkeys, authenticator app and recovery codes, signs them out everywhere, and verifies the address that you send it to.',
      body: link,
    })
  }
${
  user.emailVerifiedAt === null &&
  settings({
    title: 'Address not verified',
    intro:
      'The account was created with an invitation, which anyone who had the link could have done. Until the address is verified, the account cannot join another business.',
    body: html`<p>If you are not sure who uses the account, send a password link to the address instead: that signs everyone else out.</p>
${verify}`,
  })
}`;
}

interface DisableSection {
  isYou: boolean;
  reason: string | undefined;
  csrf: string;
}

export function disableSection(user: User, { isYou, reason, csrf }: DisableSection): Html {
  const path = `${PATH}/${user.id}`;
  const endConnections = endConnectionsAction(`${path}/end-connections`);
  if (user.disabledAt !== null) {
    const body = html`<p>Disabled since ${time(user.disabledAt)}: the user cannot sign in, and the apps that they connected have no access. Once the user is enabled, these apps work again.</p>
${reasonText(reason)}
${postForm({ action: `${path}/enable`, csrf, body: html`<button class="primary">Enable</button>` })}`;
    return html`${settings({ title: 'Disabled', body })}
${dangerZone([endConnections])}`;
  }
  return dangerZone([
    !isYou && {
      title: 'Disable the user',
      text: 'Disabling signs the user out everywhere and stops every app that they connected. It can be undone.',
      action: html`<a class="button danger" href="${path}/disable">Disable…</a>`,
    },
    endConnections,
  ]);
}

interface DisableQuestion extends UserImpact {
  solelyOwned: string[];
  /** The reason as it was typed. */
  typed: string;
  csrf: string;
  problem: Problem | undefined;
}

function disableBody(user: User, { sessions, impact, solelyOwned, csrf, typed, problem }: DisableQuestion): Html {
  const path = `${PATH}/${user.id}`;
  const [first, ...others] = solelyOwned;
  const owned = others.length === 0 ? first : `${first} and ${pluralize(others.length, 'other', 'others')}`;
  const body = html`${problem?.field === 'user' && problemText(problem)}
<p>This ends <strong>${pluralize(sessions, 'session', 'sessions')}</strong> of ${user.email}. Every app that the user has connected stops at its next call: <strong>${connectedText(impact)}</strong>.</p>
${owned !== undefined && html`<p class="notice">Nobody else owns ${owned}. Until the user is enabled again, nobody can manage the members there.</p>`}
<p>Once the user is enabled again, they can sign in, and these apps work again.</p>
${postForm({
  action: `${path}/disable`,
  csrf,
  body: html`${reasonField({ hint: 'Shown to platform admins here and in the audit log.', value: typed, problem })}
<div class="form-actions"><a class="button secondary" href="${path}">Cancel</a><button class="danger">Disable user</button></div>`,
})}`;
  return question({ title: `Disable ${user.name}?`, back: { to: path, name: user.name }, body });
}
