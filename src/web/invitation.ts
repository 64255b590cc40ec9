import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findInvitation, type Invitation, stateOf } from '../accounts/invitations.ts';
import { findObstacle, join } from '../accounts/joining.ts';
import { findMembership } from '../accounts/memberships.ts';
import { access } from './access.ts';
import type { WebDeps } from './deps.ts';
import { SignInRequired } from './errors.ts';
import { redirectWithFlash } from './flash.ts';
import { type Form, type Problem, text, tryForm, tryRateLimitedForm } from './forms.ts';
import { closedInvitation, joinBody, memberBody, newcomerBody, obstacleBody } from './invitation-pages.ts';
import { rememberBrowser } from './known-browsers.ts';
import { sendPage } from './layout.ts';
import { joinAsNewcomer } from './newcomers.ts';
import { actorOf, setSessionCookie } from './session.ts';

type ForInvitation = { Params: { token: string }; Body: Form };

const JOINED = '/settings/connected-apps';

/** The pages of an invitation. Who has the link may read whom it invites, to what, and who made it. */
export function mountInvitation(host: FastifyInstance, deps: WebDeps): void {
  host.get<ForInvitation>('/invitation/:token', access('anyone'), async (request, reply) => {
    const invitation = await findOpen(deps, request.params.token);
    return show(deps, { request, reply, invitation });
  });

  host.post<ForInvitation>('/invitation/:token', access('anyone'), async (request, reply) =>
    joinAsUser(deps, request, reply),
  );

  host.post<ForInvitation>('/invitation/:token/account', access('anyone'), async (request, reply) => {
    const { token } = request.params;
    if (request.session) return reply.redirect(`/invitation/${encodeURIComponent(token)}`, 303);
    const invitation = await findOpen(deps, token);
    const create = async () => {
      const signedIn = await joinAsNewcomer(deps, request, { invitation, token });
      setSessionCookie(reply, signedIn.session);
      rememberBrowser(deps, reply, signedIn);
      return redirectWithFlash(reply, JOINED, 'joined');
    };
    return tryRateLimitedForm(reply, create, (problem, status) =>
      show(deps, { request, reply, invitation, problem, status }),
    );
  });
}

async function findOpen({ storage, clock }: WebDeps, token: string): Promise<Invitation> {
  const invitation = await findInvitation(storage.durable, token);
  if (!invitation || stateOf(invitation, clock()) !== 'open') throw closedInvitation(invitation, clock());
  return invitation;
}

async function joinAsUser(deps: WebDeps, request: FastifyRequest<ForInvitation>, reply: FastifyReply) {
  const { storage, clock } = deps;
  const { token } = request.params;
  const user = request.session?.user;
  if (!user) throw new SignInRequired(`/invitation/${token}`);
  const invitation = await findInvitation(storage.durable, token);
  // A second click finds what the first has done.
  if (invitation?.acceptedBy === user.id) return redirectWithFlash(reply, JOINED, 'joined');
  if (!invitation) throw closedInvitation(invitation, clock());
  const by = { ...actorOf(request), id: user.id };
  const enter = async () => {
    const isIn = await storage.transaction((db) => join(db, { invitation, user, by }, clock()));
    if (!isIn) throw closedInvitation(await findInvitation(storage.durable, token), clock());
    return redirectWithFlash(reply, JOINED, 'joined');
  };
  return tryForm(enter, (problem) => show(deps, { request, reply, invitation, problem }));
}

interface Shown {
  request: FastifyRequest<ForInvitation>;
  reply: FastifyReply;
  invitation: Invitation;
  problem?: Problem;
  status?: number;
}

async function show(deps: WebDeps, { request, reply, invitation, problem, status = problem ? 400 : 200 }: Shown) {
  const { session, csrfToken: csrf } = request;
  const link = { path: `/invitation/${encodeURIComponent(request.params.token)}`, csrf, invitation };
  const { platformName } = deps;
  const page = { title: 'Invitation', platformName, width: 'narrow' as const, runsScript: true };
  if (!session) {
    const name = text(request.body ?? {}, 'name');
    return sendPage(reply, { ...page, body: newcomerBody(link, name, problem) }, { status });
  }
  const isMember = await findMembership(deps.storage.durable, session.user.id, invitation.businessId);
  if (isMember) return sendPage(reply, { ...page, body: memberBody(link) }, { status });
  const obstacle = findObstacle(session.user, invitation);
  const body = obstacle
    ? obstacleBody(link, { obstacle, user: session.user, platformName })
    : joinBody(link, session.user);
  return sendPage(reply, { ...page, body }, { status });
}
