import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Membership } from '../../accounts/memberships.ts';
import type { Session } from '../../accounts/sessions.ts';
import { findActingMembership, timeOfAllow } from '../../grants/tenancy.ts';
import { TooManyRequests } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { RateLimit } from '../../lib/rate-limit.ts';
import { findPermission, type Restriction, restrictionError } from '../../oauth/authorize/permission.ts';
import { type AuthorizationRequest, readAuthorizationRequest, rejection } from '../../oauth/authorize/request.ts';
import { codeLocation, scopesToShow } from '../../oauth/authorize/response.ts';
import { issueCodeSilently, needsNoScreen } from '../../oauth/authorize/silent.ts';
import { rawQuery, readTimestamp } from '../../oauth/authorize/timestamp.ts';
import { CallbackError, OAuthError } from '../../oauth/errors.ts';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { SignInRequired } from '../errors.ts';
import type { Form } from '../forms.ts';
import { actorOf, requireSecondFactor } from '../session.ts';
import { refusal } from './refusal.ts';
import { showRestriction } from './restriction.ts';
import { initiallyTicked } from './scopes.ts';
import { type ConsentContext, findEarlierConsent, restart, showConsent } from './screen.ts';
import { type ConsentState, createConsentState } from './state.ts';
import { submitConsent } from './submission.ts';

export function mountConsent(host: FastifyInstance, deps: WebDeps): void {
  host.get('/consent', access('anyone'), (request, reply) => openConsent(deps, request, reply));
  host.post<{ Body: Form }>('/consent', access('anyone'), (request, reply) => submitConsent(deps, request, reply));
}

async function openConsent(deps: WebDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { storage, keys, clock, issuer } = deps;
  const { query, requestedAt } = readTimestamp(keys, rawQuery(request.url), clock());
  const requested = await readAuthorizationRequest(deps, query, request.ip);
  if (requestedAt === null) return restart(deps, reply, query);
  const session = requireSignIn(request, requested, requestedAt);
  requireSecondFactor(request);
  await countRequest(deps, deps.limits.perUser, requested, session);
  const membership = await requireMembership(deps, requested, session);
  const { businessId } = membership;
  const context = { request, session, path: request.url, query, businessId };
  const [permission, consent] = await Promise.all([
    findPermission(storage.durable, { request: requested, userId: session.user.id, businessId }),
    findEarlierConsent(deps, requested, session, businessId),
  ]);
  if (permission.restriction)
    return openRestriction(deps, reply, { ...context, authRequest: requested }, permission.restriction);
  const authRequest = permission.request;

  if (needsNoScreen(authRequest, consent)) {
    await countRequest(deps, deps.limits.changesPerUser, authRequest, session);
    const ids = { businessId, sessionId: session.id, grantId: newId(clock()) };
    const authorization = { request: authRequest, ...ids, consent, rules: permission.rules };
    const now = timeOfAllow(membership, clock());
    const code = await issueCodeSilently(actorOf(request), { db: storage.durable, keys }, authorization, now);
    return code ? reply.redirect(codeLocation(authRequest.callback, code, issuer), 303) : restart(deps, reply, query);
  }
  if (authRequest.prompt === 'none') {
    const description = 'The user has not allowed this yet. Send the request without prompt=none.';
    const error = new OAuthError('consent_required', 'consent_required', description);
    throw await refusal(deps, authRequest, session, error);
  }
  const scopes = scopesToShow(authRequest, consent, permission.permit);
  const state = createConsentState({ authRequest, query, businessId, scopes, session }, clock());
  const ticked = initiallyTicked(authRequest, consent);
  return showConsent(deps, reply, { request, authRequest, session, state, consent, ticked, path: request.url });
}

type Opened = Omit<ConsentContext, 'state'> & Pick<ConsentState, 'query' | 'businessId'>;

/** With `prompt=none` the user cannot ask for approval: the app gets the reason at once. */
async function openRestriction(
  deps: WebDeps,
  reply: FastifyReply,
  { query, businessId, ...opened }: Opened,
  restriction: Restriction,
): Promise<FastifyReply> {
  const { authRequest, session } = opened;
  if (authRequest.prompt === 'none') throw await refusal(deps, authRequest, session, restrictionError(restriction));
  const state = createConsentState(
    { authRequest, query, businessId, scopes: authRequest.scopes, session },
    deps.clock(),
  );
  return showRestriction(deps, reply, { ...opened, state, restriction });
}

/** With `prompt=none` the app may be waiting in a hidden frame, so the response goes to the app. */
async function countRequest(deps: WebDeps, limit: RateLimit, authRequest: AuthorizationRequest, session: Session) {
  try {
    await limit.count(session.user.id);
  } catch (error) {
    if (!(error instanceof TooManyRequests) || authRequest.prompt !== 'none') throw error;
    const description = `There were too many requests for this user. Try again in ${error.retryAfter} s.`;
    const code = 'temporarily_unavailable';
    const refused = await refusal(deps, authRequest, session, new OAuthError(code, code, description));
    throw refused instanceof CallbackError ? refused : error;
  }
}

function requireSignIn(request: FastifyRequest, authRequest: AuthorizationRequest, requestedAt: number): Session {
  const { session } = request;
  if (authRequest.prompt === 'none' && (!session || session.lacksSecondFactor)) {
    const description = `${session ? 'The user has to complete two-step sign-in' : 'No user is signed in'}. Send the request without prompt=none.`;
    const error = new OAuthError('login_required', 'login_required', description);
    throw rejection(authRequest.app, authRequest.callback, error);
  }
  if (!session || (authRequest.prompt === 'login' && session.signedInAt < requestedAt))
    throw new SignInRequired(request.url);
  return session;
}

async function requireMembership(
  deps: WebDeps,
  authRequest: AuthorizationRequest,
  session: Session,
): Promise<Membership> {
  const { app, businessId } = authRequest;
  const membership = await findActingMembership(deps.storage.durable, { app, user: session.user, businessId });
  if (membership) return membership;
  const description = 'The signed-in user is not a member of a business that this app may act in.';
  throw await refusal(deps, authRequest, session, new OAuthError('access_denied', 'not_a_member', description));
}
