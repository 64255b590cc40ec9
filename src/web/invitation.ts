import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findInvitation, type Invitation, stateOf } from '../accounts/invitations.ts';
import { join } from '../accounts/joining.ts';
import { findMembership } from '../accounts/memberships.ts';
import { FormError, TooBusy, TooManyRequests } from '../lib/errors.ts';
import { redirectDone } from './done.ts';
import { type Form, type Problem, text, tryForm } from './fields.ts';
import { closedInvitation, joinBody, memberBody, newcomerBody } from './invitation-pages.ts';
import { rememberBrowser } from './known-browsers.ts';
import { sendPage } from './layout.ts';
import { joinAsNewcomer } from './newcomers.ts';
import type { WebParts } from './parts.ts';
import { SignInNeeded } from './refusals.ts';
import { actorOf, keepSession } from './visits.ts';

type ForInvitation = { Params: { token: string }; Body: Form };

const JOINED = '/settings/connected-apps';

/** What a one-time link leads to. To have it is to be invited, so the page may say by whom and to what. */
export function mountInvitation(host: FastifyInstance, parts: WebParts): void {
  host.get<ForInvitation>('/invitation/:token', async (request, reply) => {
    const invitation = await findOpen(parts, request.params.token);
    return show(parts, { request, reply, invitation });
  });

  host.post<ForInvitation>('/invitation/:token', async (request, reply) => joinAsUser(parts, request, reply));

  host.post<ForInvitation>('/invitation/:token/account', async (request, reply) => {
    const { token } = request.params;
    if (request.visit.session) return reply.redirect(`/invitation/${encodeURIComponent(token)}`, 303);
    const invitation = await findOpen(parts, token);
    const create = async () => {
      const session = await joinAsNewcomer(parts, request, { invitation, token });
      keepSession(reply, session);
      rememberBrowser(parts.keys, reply, session.user.email);
      return redirectDone(reply, JOINED, 'joined');
    };
    return tryCounted(reply, create, (problem, status) => show(parts, { request, reply, invitation, problem, status }));
  });
}

async function findOpen({ storage, clock }: WebParts, token: string): Promise<Invitation> {
  const invitation = await findInvitation(storage.durable, token);
  if (!invitation || stateOf(invitation, clock()) !== 'open') throw closedInvitation(invitation, clock());
  return invitation;
}

async function joinAsUser(parts: WebParts, request: FastifyRequest<ForInvitation>, reply: FastifyReply) {
  const { storage, clock } = parts;
  const { token } = request.params;
  const user = request.visit.session?.user;
  if (!user) throw new SignInNeeded(`/invitation/${token}`);
  const invitation = await findInvitation(storage.durable, token);
  // A second click finds what the first has done.
  if (invitation?.acceptedBy === user.id) return redirectDone(reply, JOINED, 'joined');
  if (!invitation) throw closedInvitation(invitation, clock());
  const by = { ...actorOf(request), id: user.id };
  const enter = async () => {
    const isIn = await storage.atomically((db) => join(db, { invitation, by }, clock()));
    if (!isIn) throw closedInvitation(await findInvitation(storage.durable, token), clock());
    return redirectDone(reply, JOINED, 'joined');
  };
  return tryForm(enter, (problem) => show(parts, { request, reply, invitation, problem }));
}

interface Shown {
  request: FastifyRequest<ForInvitation>;
  reply: FastifyReply;
  invitation: Invitation;
  problem?: Problem;
  status?: number;
}

async function show(parts: WebParts, { request, reply, invitation, problem, status = problem ? 400 : 200 }: Shown) {
  const { session, csrf } = request.visit;
  const link = { path: `/invitation/${encodeURIComponent(request.params.token)}`, csrf, invitation };
  const page = { title: 'Invitation', platformName: parts.platformName, width: 'narrow' as const, runsScript: true };
  if (!session) {
    const form = request.body ?? {};
    const typed = { name: text(form, 'name'), email: text(form, 'email') };
    return sendPage(reply, { ...page, body: newcomerBody(link, typed, problem) }, { status });
  }
  const isMember = await findMembership(parts.storage.durable, session.user.id, invitation.businessId);
  const body = isMember ? memberBody(link) : joinBody(link, session.user);
  return sendPage(reply, { ...page, body }, { status });
}

/** Like `tryForm`, and whoever tries too often is told so in the form as well. */
async function tryCounted(
  reply: FastifyReply,
  work: () => Promise<FastifyReply>,
  showAgain: (problem: Problem, status: number) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FormError) return showAgain(error, 400);
    if (!(error instanceof TooManyRequests || error instanceof TooBusy)) throw error;
    reply.header('retry-after', error.retryAfter);
    return showAgain({ field: 'password', message: error.message }, error instanceof TooBusy ? 503 : 429);
  }
}
