import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findBusiness } from '../accounts/businesses.ts';
import { findMembership, listMemberships, type Membership } from '../accounts/memberships.ts';
import type { Session } from '../accounts/sessions.ts';
import { setCurrentBusiness } from '../accounts/users.ts';
import { HOUR } from '../lib/clock.ts';
import { isId, newId } from '../lib/ids.ts';
import { seal, unseal } from '../lib/keyring.ts';
import { rawQuery } from '../lib/query.ts';
import { hashSecret } from '../lib/secrets.ts';
import { allow, allowSilently } from '../oauth/allow.ts';
import { type AuthorizationRequest, readAuthorizationRequest } from '../oauth/authorization-request.ts';
import { codeLocation } from '../oauth/callback.ts';
import { scopesToAsk } from '../oauth/consents.ts';
import { CallbackError, OAuthError } from '../oauth/errors.ts';
import { readStamp } from '../oauth/stamps.ts';
import { boundBusiness, findActingMembership, mayActIn } from '../oauth/tenancy.ts';
import { consentScreen } from './consent-screen.ts';
import { sourceOf } from './destination.ts';
import { type Form, text } from './fields.ts';
import { sendPage } from './layout.ts';
import type { WebParts } from './parts.ts';
import { forbidden, notFound, PageRefused, SignInNeeded } from './refusals.ts';
import { readReturnTo } from './return-to.ts';

/** What the screen was about. It travels through the form, sealed, and counts only in the session it was put to. */
interface Question {
  query: string;
  session: string;
  grantId: string;
  businessId: string;
  shownAt: number;
}

const ANSWER_WITHIN = HOUR;

export function mountConsent(host: FastifyInstance, parts: WebParts): void {
  host.get('/consent', (request, reply) => askConsent(parts, request, reply));
  host.post<{ Body: Form }>('/consent', (request, reply) => answerConsent(parts, request, reply));
}

async function askConsent(parts: WebParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { storage, keys, clock, issuer } = parts;
  const { query, askedAt } = readStamp(keys, rawQuery(request.url), clock());
  const asked = await readAuthorizationRequest(storage.durable, query);
  if (askedAt === null) return startOver(parts, reply, query);
  const session = requireSignIn(request, asked, askedAt);
  const membership = await requireMembership(parts, asked, session);
  const parties = { userId: session.user.id, appId: asked.app.id, businessId: membership.businessId };
  const toAsk = await scopesToAsk(storage.durable, parties, asked.scopes);

  if (asked.app.ownerScope === 'platform' || toAsk === 0) {
    const code = await allowSilently(parts, asked, { ...parties, grantId: newId(clock()) }, clock());
    return code ? reply.redirect(codeLocation(asked.callback, code, issuer), 303) : startOver(parts, reply, query);
  }
  if (asked.prompt === 'none') {
    const description = 'The user has yet to allow this; ask without prompt=none.';
    throw new CallbackError(asked.callback, new OAuthError('consent_required', 'consent_required', description));
  }
  return showConsent(parts, reply, { request, asked, session, membership, query, toAsk });
}

async function answerConsent(
  parts: WebParts,
  request: FastifyRequest<{ Body: Form }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { storage, keys, clock, issuer, consentUrl } = parts;
  const { session } = request.visit;
  if (!session) throw new SignInNeeded(readReturnTo(request.body.return_to, consentUrl));
  const question = unseal<Question>(keys, 'consent', text(request.body, 'question'));
  if (question?.session !== hashSecret(session.id)) {
    throw forbidden('This question was put to someone else, or has been changed. Go back to the app.');
  }
  const { query, grantId, businessId, shownAt } = question;
  const asked = await readAuthorizationRequest(storage.durable, query);
  const mayChoose = boundBusiness(asked.app) === null;
  if (mayChoose && (await hasSwitched(parts, session, question, request.body))) return startOver(parts, reply, query);
  if (text(request.body, 'answer') !== 'allow') {
    const refusal = new OAuthError('access_denied', 'denied_by_user', 'The user did not allow it.');
    throw new CallbackError(asked.callback, refusal);
  }
  const isStale = clock() - shownAt >= ANSWER_WITHIN;
  if (isStale || !(await mayActIn(storage.durable, asked.app, session.user, businessId))) {
    return startOver(parts, reply, query);
  }
  const code = await allow(parts, asked, { grantId, userId: session.user.id, businessId }, clock());
  if (!code) throw answered();
  return reply.redirect(codeLocation(asked.callback, code, issuer), 303);
}

/** Another business was chosen on the screen than it was about: then the question has to be put anew. */
async function hasSwitched({ storage }: WebParts, { user }: Session, question: Question, form: Form): Promise<boolean> {
  const [answer, chosen] = [text(form, 'answer'), text(form, 'business')];
  if (answer === 'deny' || chosen === '' || (chosen === question.businessId && answer !== 'switch')) return false;
  if (!isId(chosen) || !(await findMembership(storage.durable, user.id, chosen))) throw notFound();
  await setCurrentBusiness(storage.durable, user.id, chosen);
  return true;
}

/** Round by the authorize endpoint, where the request is checked and stamped anew. */
function startOver({ issuer }: WebParts, reply: FastifyReply, query: string): FastifyReply {
  return reply.redirect(`${issuer}/api/v1/oauth/authorize?${query}`, 303);
}

/** Someone went back and allowed it once more: that must not mint a second code, nor undo a disconnect in between. */
function answered(): PageRefused {
  return new PageRefused(409, 'Answered already', 'You have answered this before. Go back to the app and start again.');
}

function requireSignIn(request: FastifyRequest, asked: AuthorizationRequest, askedAt: number): Session {
  const { session } = request.visit;
  if (!session && asked.prompt === 'none') {
    const description = 'Nobody is signed in; ask without prompt=none.';
    throw new CallbackError(asked.callback, new OAuthError('login_required', 'login_required', description));
  }
  if (!session || (asked.prompt === 'login' && session.signedInAt < askedAt)) throw new SignInNeeded(request.url);
  return session;
}

async function requireMembership(
  { storage }: WebParts,
  asked: AuthorizationRequest,
  session: Session,
): Promise<Membership> {
  const membership = await findActingMembership(storage.durable, asked.app, session.user);
  if (membership) return membership;
  const description = 'The signed-in user is not a member of a business that this app may act in.';
  throw new CallbackError(asked.callback, new OAuthError('access_denied', 'not_a_member', description));
}

interface Showing {
  request: FastifyRequest;
  asked: AuthorizationRequest;
  session: Session;
  membership: Membership;
  query: string;
  toAsk: number;
}

async function showConsent(parts: WebParts, reply: FastifyReply, showing: Showing): Promise<FastifyReply> {
  const { storage, keys, clock, platformName, issuer } = parts;
  const { request, asked, session, membership, query, toAsk } = showing;
  const db = storage.durable;
  const { businessId } = membership;
  const now = clock();
  const sessionHash = hashSecret(session.id);
  const question: Question = { query, session: sessionHash, grantId: newId(now), businessId, shownAt: now };
  const owner = await findBusiness(db, asked.app.ownerBusinessId ?? '');
  const page = consentScreen({
    platformName,
    asked,
    toAsk,
    ownerName: owner?.name ?? platformName,
    question: seal(keys, 'consent', question),
    at: {
      user: session.user,
      csrf: request.visit.csrf,
      current: membership,
      memberships: await listMemberships(db, session.user.id),
      path: request.url,
    },
  });
  return sendPage(reply, page, { formTargets: [sourceOf(asked.callback.redirectUri), issuer] });
}
