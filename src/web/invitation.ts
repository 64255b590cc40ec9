import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Invitation, type InvitationState, invitationState } from '../accounts/invitations.ts';
import { acceptInvitation, findObstacle, joinAsNewUser } from '../accounts/joining.ts';
import { findInvitationOf, type LinkSource, mailInvitation } from '../accounts/mailed-invitations.ts';
import { findMembership } from '../accounts/memberships.ts';
import type { SignedIn } from '../accounts/sessions.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import { access } from './access.ts';
import { businessPath } from './business-address.ts';
import type { WebDeps } from './deps.ts';
import { notFound, PageError, SignInRequired } from './errors.ts';
import { redirectWithFlash } from './flash.ts';
import { type Form, type Problem, text, tryForm, tryRateLimitedForm } from './forms.ts';
import { expiredBody, joinBody, memberBody, newcomerBody, obstacleBody } from './invitation-views.ts';
import { rememberBrowser } from './known-browsers.ts';
import { sendPage } from './layout.ts';
import { countMail } from './mail-limits.ts';
import { actorOf, clientOf, requireSecondFactor, setSessionCookie } from './session.ts';

type InvitationRoute = { Params: { token: string }; Body: Form };

/** Everyone who has the link can see whom it invites, to which business, and who created it. */
export function mountInvitation(host: FastifyInstance, deps: WebDeps): void {
  host.get<InvitationRoute>('/invitation/:token', access('anyone'), async (request, reply) => {
    return show(deps, { request, reply, ...(await requireOpen(deps, request.params.token)) });
  });

  host.post<InvitationRoute>('/invitation/:token', access('anyone'), async (request, reply) =>
    join(deps, request, reply),
  );

  host.post<InvitationRoute>('/invitation/:token/account', access('anyone'), async (request, reply) => {
    const { token } = request.params;
    if (request.session) return reply.redirect(`/invitation/${encodeURIComponent(token)}`, 303);
    const found = await requireOpen(deps, token);
    if (found.source === 'expired') return show(deps, { request, reply, ...found, status: 410 });
    const create = async () => {
      const signedIn = await createAccount(deps, request, found);
      setSessionCookie(reply, signedIn.session);
      rememberBrowser(deps, reply, signedIn);
      return redirectWithFlash(reply, businessPath(found.invitation, 'connected-apps'), 'joined');
    };
    return tryRateLimitedForm(reply, create, (problem, status) =>
      show(deps, { request, reply, ...found, problem, status }),
    );
  });

  host.post<InvitationRoute>('/invitation/:token/mail', access('anyone'), async (request, reply) => {
    const { invitation, source } = await requireOpen(deps, request.params.token);
    if (!deps.mailer.isOn || source === 'shown') throw notFound();
    await countMail(deps, request, invitation.email);
    await mailInvitation(deps.storage.durable, deps.mailer, invitation, deps.clock());
    return redirectWithFlash(reply, '/sign-in', 'invitation_mailed');
  });
}

interface FoundInvitation {
  invitation: Invitation;
  source: LinkSource;
}

async function requireOpen({ storage, clock }: WebDeps, token: string): Promise<FoundInvitation> {
  const found = await findInvitationOf(storage.durable, token, clock());
  if (!found || invitationState(found.invitation, clock()) !== 'open')
    throw closedInvitation(found?.invitation, clock());
  return found;
}

async function join(deps: WebDeps, request: FastifyRequest<InvitationRoute>, reply: FastifyReply) {
  const { storage, clock } = deps;
  const { token } = request.params;
  const user = request.session?.user;
  if (!user) throw new SignInRequired(`/invitation/${token}`);
  requireSecondFactor(request, `/invitation/${token}`);
  const found = await findInvitationOf(storage.durable, token, clock());
  if (!found) throw closedInvitation(undefined, clock());
  const { invitation, source } = found;
  // The form was submitted twice.
  if (invitation.acceptedBy === user.id)
    return redirectWithFlash(reply, businessPath(invitation, 'connected-apps'), 'joined');
  if (source === 'expired') return show(deps, { request, reply, ...found, status: 410 });
  const accept = async () => {
    const accepted = await acceptInvitation(actorOf(request), storage.durable, { ...found, user }, clock());
    if (!accepted)
      throw closedInvitation((await findInvitationOf(storage.durable, token, clock()))?.invitation, clock());
    return redirectWithFlash(reply, businessPath(invitation, 'connected-apps'), 'joined');
  };
  return tryForm(accept, (problem) => show(deps, { request, reply, ...found, problem }));
}

/** Counts like an attempt to sign in: each may reveal whether the address has an account, and hashes a password. */
async function createAccount(
  { storage, limits, clock }: WebDeps,
  request: FastifyRequest<InvitationRoute>,
  found: FoundInvitation,
): Promise<SignedIn> {
  const network = networkOf(request.ip);
  await limits.signInPerAddress.count(network);
  const [name, password] = [text(request.body, 'name'), text(request.body, 'password')];
  const registration = { ...found, name, password, device: clientOf(request) };
  const signedIn = await joinAsNewUser(storage.durable, registration, clock());
  if (!signedIn) {
    const closed = await findInvitationOf(storage.durable, request.params.token, clock());
    throw closedInvitation(closed?.invitation, clock());
  }
  await limits.signInPerAddress.refund(network);
  return signedIn;
}

interface Shown extends FoundInvitation {
  request: FastifyRequest<InvitationRoute>;
  reply: FastifyReply;
  problem?: Problem;
  status?: number;
}

async function show(deps: WebDeps, { request, reply, problem, status = problem ? 400 : 200, ...found }: Shown) {
  const { invitation, source } = found;
  const { session, csrfToken: csrf } = request;
  const opened = { path: `/invitation/${encodeURIComponent(request.params.token)}`, csrf, invitation };
  const { platformName } = deps;
  const page = { title: 'Invitation', platformName, width: 'narrow' as const, runsScript: true };
  if (source === 'expired') return sendPage(reply, { ...page, body: expiredBody(opened) }, { status });
  if (!session) {
    const name = text(request.body ?? {}, 'name');
    return sendPage(reply, { ...page, body: newcomerBody(opened, name, problem) }, { status });
  }
  const isMember = await findMembership(deps.storage.durable, session.user.id, invitation.businessId);
  if (isMember) return sendPage(reply, { ...page, body: memberBody(opened) }, { status });
  const obstacle = findObstacle(session.user, invitation, source);
  const body = obstacle
    ? obstacleBody(opened, { obstacle, user: session.user, platformName, isMailOn: deps.mailer.isOn })
    : joinBody(opened, session.user);
  return sendPage(reply, { ...page, body }, { status });
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
