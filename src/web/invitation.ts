import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Invitation, invitationState } from '../accounts/invitations.ts';
import { acceptInvitation, findJoinProblem, joinAsNewUser } from '../accounts/joining.ts';
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
import { cannotJoinBody, expiredBody, joinBody, memberBody, newcomerBody } from './invitation-views.ts';
import { rememberBrowser } from './known-browsers.ts';
import { textsOf } from './language.ts';
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
    const showAgain = (problem: Problem, status: number) => show(deps, { request, reply, ...found, problem, status });
    return tryRateLimitedForm(reply, create, showAgain, { texts: textsOf(deps, request) });
  });

  host.post<InvitationRoute>('/invitation/:token/mail', access('anyone'), async (request, reply) => {
    const { invitation, source } = await requireOpen(deps, request.params.token);
    if (!deps.mailer.isOn || source === 'shown') throw notFound();
    await countMail(deps, request, invitation.email);
    const language = textsOf(deps, request).tag;
    await mailInvitation(deps.storage.durable, deps.mailer, { invitation, language }, deps.clock());
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
  const showAgain = (problem: Problem) => show(deps, { request, reply, ...found, problem });
  return tryForm(accept, showAgain, textsOf(deps, request));
}

/** Counts like an attempt to sign in: each may reveal whether the address has an account, and hashes a password. */
async function createAccount(
  deps: WebDeps,
  request: FastifyRequest<InvitationRoute>,
  found: FoundInvitation,
): Promise<SignedIn> {
  const { storage, limits, clock, languages } = deps;
  const network = networkOf(request.ip);
  await limits.signInPerAddress.count(network);
  const [name, password] = [text(request.body, 'name'), text(request.body, 'password')];
  const { tag } = textsOf(deps, request);
  const language = tag === languages[0].tag ? null : tag;
  const registration = { ...found, name, password, device: clientOf(request), language };
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
  const texts = textsOf(deps, request);
  const opened = { texts, path: `/invitation/${encodeURIComponent(request.params.token)}`, csrf, invitation };
  const { platformName } = deps;
  const page = { title: texts.invitation.title, texts, platformName, width: 'narrow' as const, runsScript: true };
  if (source === 'expired') return sendPage(reply, { ...page, body: expiredBody(opened) }, { status });
  if (!session) {
    const name = text(request.body ?? {}, 'name');
    return sendPage(reply, { ...page, body: newcomerBody(opened, name, problem) }, { status });
  }
  const isMember = await findMembership(deps.storage.durable, session.user.id, invitation.businessId);
  if (isMember) return sendPage(reply, { ...page, body: memberBody(opened) }, { status });
  const joinProblem = findJoinProblem(session.user, invitation, source);
  const body = joinProblem
    ? cannotJoinBody(opened, { joinProblem, user: session.user, platformName, isMailOn: deps.mailer.isOn })
    : joinBody(opened, session.user);
  return sendPage(reply, { ...page, body }, { status });
}

/** Says why it does not work, but not whom it was for or who has used it. */
function closedInvitation(invitation: Invitation | undefined, now: number): PageError {
  if (!invitation) return new PageError(404, (texts) => texts.invitation.unknown);
  const state = invitationState(invitation, now);
  return new PageError(410, (texts) => texts.invitation.closed[state]);
}
