import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findInvitation, type Invitation, type InvitationState, invitationState } from '../accounts/invitations.ts';
import { acceptInvitation, findObstacle, type JoinObstacle, joinAsNewUser } from '../accounts/joining.ts';
import { findMembership } from '../accounts/memberships.ts';
import type { SignedIn } from '../accounts/sessions.ts';
import type { User } from '../accounts/users.ts';
import { type Html, html } from '../lib/html.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import { access } from './access.ts';
import { ROLE_MEANINGS, ROLE_NAMES } from './components.ts';
import type { WebDeps } from './deps.ts';
import { PageError, SignInRequired } from './errors.ts';
import { redirectWithFlash } from './flash.ts';
import {
  ariaAttributes,
  type Form,
  input,
  type Problem,
  postForm,
  problemText,
  text,
  time,
  tryForm,
  tryRateLimitedForm,
} from './forms.ts';
import { rememberBrowser } from './known-browsers.ts';
import { sendPage } from './layout.ts';
import { actorOf, clientOf, requireSecondFactor, setSessionCookie } from './session.ts';

type InvitationRoute = { Params: { token: string }; Body: Form };

const JOINED = '/settings/connected-apps';

/** Everyone who has the link can see whom it invites, to which business, and who created it. */
export function mountInvitation(host: FastifyInstance, deps: WebDeps): void {
  host.get<InvitationRoute>('/invitation/:token', access('anyone'), async (request, reply) => {
    const invitation = await requireOpen(deps, request.params.token);
    return show(deps, { request, reply, invitation });
  });

  host.post<InvitationRoute>('/invitation/:token', access('anyone'), async (request, reply) =>
    join(deps, request, reply),
  );

  host.post<InvitationRoute>('/invitation/:token/account', access('anyone'), async (request, reply) => {
    const { token } = request.params;
    if (request.session) return reply.redirect(`/invitation/${encodeURIComponent(token)}`, 303);
    const invitation = await requireOpen(deps, token);
    const create = async () => {
      const signedIn = await createAccount(deps, request, invitation);
      setSessionCookie(reply, signedIn.session);
      rememberBrowser(deps, reply, signedIn);
      return redirectWithFlash(reply, JOINED, 'joined');
    };
    return tryRateLimitedForm(reply, create, (problem, status) =>
      show(deps, { request, reply, invitation, problem, status }),
    );
  });
}

async function requireOpen({ storage, clock }: WebDeps, token: string): Promise<Invitation> {
  const invitation = await findInvitation(storage.durable, token);
  if (!invitation || invitationState(invitation, clock()) !== 'open') throw closedInvitation(invitation, clock());
  return invitation;
}

async function join(deps: WebDeps, request: FastifyRequest<InvitationRoute>, reply: FastifyReply) {
  const { storage, clock } = deps;
  const { token } = request.params;
  const user = request.session?.user;
  if (!user) throw new SignInRequired(`/invitation/${token}`);
  requireSecondFactor(request, `/invitation/${token}`);
  const invitation = await findInvitation(storage.durable, token);
  // The form was submitted twice.
  if (invitation?.acceptedBy === user.id) return redirectWithFlash(reply, JOINED, 'joined');
  if (!invitation) throw closedInvitation(invitation, clock());
  const accept = async () => {
    const accepted = await acceptInvitation(actorOf(request), storage.durable, { invitation, user }, clock());
    if (!accepted) throw closedInvitation(await findInvitation(storage.durable, token), clock());
    return redirectWithFlash(reply, JOINED, 'joined');
  };
  return tryForm(accept, (problem) => show(deps, { request, reply, invitation, problem }));
}

/** Counts like an attempt to sign in: each may reveal whether the address has an account, and hashes a password. */
async function createAccount(
  { storage, limits, clock }: WebDeps,
  request: FastifyRequest<InvitationRoute>,
  invitation: Invitation,
): Promise<SignedIn> {
  const network = networkOf(request.ip);
  await limits.signInPerAddress.count(network);
  const [name, password] = [text(request.body, 'name'), text(request.body, 'password')];
  const registration = { invitation, name, password, device: clientOf(request) };
  const signedIn = await joinAsNewUser(storage.durable, registration, clock());
  if (!signedIn) throw closedInvitation(await findInvitation(storage.durable, request.params.token), clock());
  await limits.signInPerAddress.refund(network);
  return signedIn;
}

interface Shown {
  request: FastifyRequest<InvitationRoute>;
  reply: FastifyReply;
  invitation: Invitation;
  problem?: Problem;
  status?: number;
}

async function show(deps: WebDeps, { request, reply, invitation, problem, status = problem ? 400 : 200 }: Shown) {
  const { session, csrfToken: csrf } = request;
  const opened = { path: `/invitation/${encodeURIComponent(request.params.token)}`, csrf, invitation };
  const { platformName } = deps;
  const page = { title: 'Invitation', platformName, width: 'narrow' as const, runsScript: true };
  if (!session) {
    const name = text(request.body ?? {}, 'name');
    return sendPage(reply, { ...page, body: newcomerBody(opened, name, problem) }, { status });
  }
  const isMember = await findMembership(deps.storage.durable, session.user.id, invitation.businessId);
  if (isMember) return sendPage(reply, { ...page, body: memberBody(opened) }, { status });
  const obstacle = findObstacle(session.user, invitation);
  const body = obstacle
    ? obstacleBody(opened, { obstacle, user: session.user, platformName })
    : joinBody(opened, session.user);
  return sendPage(reply, { ...page, body }, { status });
}

/** An invitation as one browser shows it. */
interface Opened {
  path: string;
  csrf: string;
  invitation: Invitation;
}

const CLOSED: Record<InvitationState, [title: string, sentence: string]> = {
  open: ['This link did not work', 'Open it again.'],
  used: ['This link has been used', 'An invitation works once. If you have joined with it, sign in.'],
  withdrawn: ['This invitation was withdrawn', 'Ask the person who sent it to you for a new one.'],
  expired: [
    'This invitation has expired',
    'An invitation is valid for 7 days. Ask the person who sent it to you for a new one.',
  ],
};

/** Says why it does not work, but not whom it was for or who has used it. */
function closedInvitation(invitation: Invitation | undefined, now: number): PageError {
  if (!invitation) {
    const sentence = 'It may be incomplete. Ask the person who sent it to you for a new one.';
    return new PageError(404, 'This link does not work', sentence);
  }
  return new PageError(410, ...CLOSED[invitationState(invitation, now)]);
}

/** For a visitor who is not signed in. */
function newcomerBody(opened: Opened, name: string, problem?: Problem): Html {
  return html`<div class="card">${offer(opened)}
<p><a class="button primary wide" href="${signInAddress(opened)}">Sign in to join</a></p></div>
${postForm({
  action: `${opened.path}/account`,
  csrf: opened.csrf,
  style: 'card',
  body: html`<h2>New here? Create an account</h2>
${input({ name: 'name', label: 'Your name', value: name, autocomplete: 'name' }, problem)}
${addressField(opened.invitation.email, problem)}
${input({ name: 'password', label: 'Password', type: 'password', hint: 'At least 8 characters.', autocomplete: 'new-password' }, problem)}
<button class="secondary wide">Create account and join</button>`,
})}`;
}

/** For password managers. It has no name and so is not submitted: the address is that of the invitation. */
function addressField(email: string, problem: Problem | undefined): Html {
  const wrong = problem?.field === 'email';
  const hint = 'The invitation is for this address, and you will sign in with it.';
  return html`<div class="field">
<label for="email">Email</label>
<p class="hint" id="email-hint">${hint}</p>
<input id="email" type="email" value="${email}" autocomplete="username" readonly ${ariaAttributes('email', { hint, wrong })}>
${wrong && problemText(problem)}
</div>`;
}

interface Obstructed {
  obstacle: JoinObstacle;
  user: User;
  platformName: string;
}

/** For an account that cannot accept the invitation. The invitation stays open. */
function obstacleBody(opened: Opened, { obstacle, user, platformName }: Obstructed): Html {
  const { email, businessName } = opened.invitation;
  if (obstacle === 'another address') {
    return html`<div class="card"><h1>This invitation is for another address</h1>
<p>It invites <strong>${email}</strong> to ${businessName}. You are signed in as <strong>${user.email}</strong>.</p>
<p><a class="button secondary" href="${signInAddress(opened)}">Use another account</a></p></div>`;
  }
  return html`<div class="card"><h1>Your email address is not verified yet</h1>
<p>Your account was created with an invitation to another business, and it has not been verified that <strong>${user.email}</strong> is your address. Until then the account cannot join ${businessName}.</p>
<p>Ask a platform admin or an operator of ${platformName}. They can give you a one-time link to set a new password, which also verifies the address. Then open this invitation again. It is valid until ${time(opened.invitation.expiresAt)}.</p>
<p><a class="button secondary" href="${signInAddress(opened)}">Use another account</a></p></div>`;
}

function joinBody(opened: Opened, user: User): Html {
  return html`<div class="card">${offer(opened)}
${postForm({
  action: opened.path,
  csrf: opened.csrf,
  body: html`<button class="primary wide">Join as ${user.name}</button>`,
})}
<p class="muted">You are signed in as ${user.email}. <a href="${signInAddress(opened)}">Use another account</a></p></div>`;
}

/** For a member of the business. The invitation stays open. */
function memberBody({ path, invitation, csrf }: Opened): Html {
  return html`<div class="card"><h1>You are already a member of ${invitation.businessName}</h1>
<p>You do not need an invitation. This one has not been used and still works for ${invitation.email}.</p>
<div class="form-actions"><a class="button secondary" href="/settings/members">See the members</a>
<a class="button secondary" href="${signInAddress({ path, invitation, csrf })}">Use another account</a></div></div>`;
}

function offer({ invitation }: Opened): Html {
  const { businessName, inviterName, role, email, expiresAt } = invitation;
  return html`<h1>Join ${businessName}</h1>
<p><strong>${inviterName}</strong> invites you to <strong>${businessName}</strong>.</p>
<dl class="facts">
<div><dt>For</dt><dd>${email}</dd></div>
<div><dt>Your role</dt><dd>${ROLE_NAMES[role]}<br><span class="muted small">${ROLE_MEANINGS[role]}</span></dd></div>
<div><dt>Until</dt><dd>${time(expiresAt)}</dd></div>
</dl>`;
}

function signInAddress({ path }: Opened): string {
  return `/sign-in?${new URLSearchParams({ return_to: path })}`;
}
