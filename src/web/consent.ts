import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findBusiness } from '../accounts/businesses.ts';
import { findMembership, listMemberships, type Membership } from '../accounts/memberships.ts';
import { resumeSession, type Session } from '../accounts/sessions.ts';
import { setCurrentBusiness } from '../accounts/users.ts';
import { type Consent, chooseScopes, denyApp, findConsent } from '../grants/consents.ts';
import { boundBusiness, findActingMembership, mayActIn } from '../grants/tenancy.ts';
import { TooManyRequests } from '../lib/errors.ts';
import { isId, newId } from '../lib/ids.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import { commonScopes, formatScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import {
  type AuthorizationRequest,
  rawQuery,
  readAuthorizationRequest,
  readTimestamp,
} from '../oauth/authorize/request.ts';
import { codeLocation, issueCode, issueCodeSilently, needsNoScreen } from '../oauth/authorize/response.ts';
import { CallbackError, OAuthError } from '../oauth/errors.ts';
import { access } from './access.ts';
import { makerName } from './components.ts';
import {
  type ConsentState,
  consentScreen,
  createConsentState,
  isExpired,
  readConsentState,
  signConsentState,
} from './consent-screen.ts';
import type { WebDeps } from './deps.ts';
import { notFound, PageError, SignInRequired, sessionExpired } from './errors.ts';
import { type Form, list, type Problem, text } from './forms.ts';
import { sendPage } from './layout.ts';
import { cspSource, readReturnTo } from './return-to.ts';
import { actorOf } from './session.ts';

export function mountConsent(host: FastifyInstance, deps: WebDeps): void {
  host.get('/consent', access('anyone'), (request, reply) => openConsent(deps, request, reply));
  host.post<{ Body: Form }>('/consent', access('anyone'), (request, reply) => submitConsent(deps, request, reply));
}

async function openConsent(deps: WebDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { storage, keys, clock, issuer } = deps;
  const { query, requestedAt } = readTimestamp(keys, rawQuery(request.url), clock());
  const authRequest = await readAuthorizationRequest(deps, query);
  if (requestedAt === null) return restart(deps, reply, query);
  const session = requireSignIn(request, authRequest, requestedAt);
  await countRequest(deps.limits.perUser, authRequest, session);
  const { businessId } = await requireMembership(deps, authRequest, session);
  const consent = await findEarlierConsent(deps, authRequest, session, businessId);

  if (needsNoScreen(authRequest, consent)) {
    await countRequest(deps.limits.changesPerUser, authRequest, session);
    const authorization = { request: authRequest, businessId, sessionId: session.id, grantId: newId(clock()) };
    const code = await issueCodeSilently(actorOf(request), { db: storage.durable, keys }, authorization, clock());
    return code ? reply.redirect(codeLocation(authRequest.callback, code, issuer), 303) : restart(deps, reply, query);
  }
  if (authRequest.prompt === 'none') {
    const description = 'The user has not allowed this yet. Send the request without prompt=none.';
    throw new CallbackError(authRequest.callback, new OAuthError('consent_required', 'consent_required', description));
  }
  const state = createConsentState({ query, businessId, scopes: authRequest.scopes, session }, clock());
  const ticked = scopesBeyond(authRequest.optionalScopes, consent.declined);
  return showConsent(deps, reply, { request, authRequest, session, state, consent, ticked, path: request.url });
}

/** With `prompt=none` the app may be waiting in a hidden frame, so the response goes to the app. */
async function countRequest(limit: RateLimit, { prompt, callback }: AuthorizationRequest, { user }: Session) {
  try {
    await limit.count(user.id);
  } catch (error) {
    if (!(error instanceof TooManyRequests) || prompt !== 'none') throw error;
    const description = `There were too many requests for this user. Try again in ${error.retryAfter} s.`;
    const code = 'temporarily_unavailable';
    throw new CallbackError(callback, new OAuthError(code, code, description));
  }
}

async function submitConsent(
  deps: WebDeps,
  request: FastifyRequest<{ Body: Form }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { storage, keys, clock, issuer, consentUrl } = deps;
  const { session } = request;
  const returnTo = readReturnTo(request.body.return_to, consentUrl);
  if (!session) throw sessionExpired(returnTo);
  const state = readConsentState(keys, request.body, session);
  const { query, grantId, businessId } = state;
  const authRequest = await readAuthorizationRequest(deps, query);
  const mayChoose = boundBusiness(authRequest.app) === null;
  const chosen = mayChoose && (await switchBusiness(deps, session, state, request.body));
  if (chosen)
    return showOtherBusiness(deps, reply, { request, authRequest, session, state: { ...state, businessId: chosen } });
  if (text(request.body, 'answer') !== 'allow') {
    await denyApp(actorOf(request), storage.durable, { app: authRequest.app, businessId }, clock());
    const error = new OAuthError('access_denied', 'denied_by_user', 'The user did not allow it.');
    throw new CallbackError(authRequest.callback, error);
  }
  const mayStill = await mayActIn(storage.durable, authRequest.app, session.user, businessId);
  const isSame = formatScopes(authRequest.scopes) === formatScopes(state.scopes);
  if (isExpired(state, clock()) || !mayStill || !isSame) return restart(deps, reply, query);

  const decision = chooseScopes(authRequest, list(request.body, 'optional_scope'));
  if (decision.allowed.length === 0) return showNothingTicked(deps, reply, { request, authRequest, session, state });
  const authorization = { request: authRequest, grantId, sessionId: session.id, businessId, decision };
  const code = await issueCode(actorOf(request), { db: storage.durable, keys }, authorization, clock());
  if (!code)
    throw (await resumeSession(storage.durable, session.id, clock())) ? alreadySubmitted() : sessionExpired(returnTo);
  return reply.redirect(codeLocation(authRequest.callback, code, issuer), 303);
}

/** Undefined unless the user selected another business than the screen was for. */
async function switchBusiness(
  { storage }: WebDeps,
  { user }: Session,
  state: ConsentState,
  form: Form,
): Promise<string | undefined> {
  const [answer, chosen] = [text(form, 'answer'), text(form, 'business')];
  if (answer === 'deny' || chosen === '' || (chosen === state.businessId && answer !== 'switch')) return undefined;
  if (!isId(chosen) || !(await findMembership(storage.durable, user.id, chosen))) throw notFound();
  await setCurrentBusiness(storage.durable, user.id, chosen);
  return chosen;
}

/** The same screen for the selected business, with the same boxes ticked. */
async function showOtherBusiness(
  deps: WebDeps,
  reply: FastifyReply,
  submitted: SubmittedConsent,
): Promise<FastifyReply> {
  const { request, authRequest, session, state } = submitted;
  const { query, businessId } = state;
  const consent = await findEarlierConsent(deps, authRequest, session, businessId);
  if (isExpired(state, deps.clock()) || needsNoScreen(authRequest, consent)) return restart(deps, reply, query);
  const ticked = commonScopes(authRequest.optionalScopes, list(request.body, 'optional_scope'));
  const path = readReturnTo(request.body.return_to, deps.consentUrl);
  const again = createConsentState({ query, businessId, scopes: authRequest.scopes, session }, deps.clock());
  return showConsent(deps, reply, { ...submitted, state: again, consent, ticked, path, isSwitched: true });
}

/** Through the authorize endpoint, which checks the request again and appends a new timestamp. */
function restart({ issuer }: WebDeps, reply: FastifyReply, query: string): FastifyReply {
  return reply.redirect(`${issuer}/api/v1/oauth/authorize?${query}`, 303);
}

/** The user went back and clicked Allow again: that must not issue a second code, nor undo a disconnect in between. */
function alreadySubmitted(): PageError {
  return new PageError(409, 'Already submitted', 'Go back to the app to start again.');
}

function requireSignIn(request: FastifyRequest, authRequest: AuthorizationRequest, requestedAt: number): Session {
  const { session } = request;
  if (!session && authRequest.prompt === 'none') {
    const description = 'No user is signed in. Send the request without prompt=none.';
    throw new CallbackError(authRequest.callback, new OAuthError('login_required', 'login_required', description));
  }
  if (!session || (authRequest.prompt === 'login' && session.signedInAt < requestedAt))
    throw new SignInRequired(request.url);
  return session;
}

async function requireMembership(
  { storage }: WebDeps,
  authRequest: AuthorizationRequest,
  session: Session,
): Promise<Membership> {
  const membership = await findActingMembership(storage.durable, authRequest.app, session.user);
  if (membership) return membership;
  const description = 'The signed-in user is not a member of a business that this app may act in.';
  throw new CallbackError(authRequest.callback, new OAuthError('access_denied', 'not_a_member', description));
}

interface ConsentContext {
  request: FastifyRequest;
  authRequest: AuthorizationRequest;
  session: Session;
  state: ConsentState;
}

type SubmittedConsent = ConsentContext & { request: FastifyRequest<{ Body: Form }> };

/** All scopes are optional, and none is ticked: a grant needs at least one. */
async function showNothingTicked(
  deps: WebDeps,
  reply: FastifyReply,
  submitted: SubmittedConsent,
): Promise<FastifyReply> {
  const { authRequest, session, state } = submitted;
  const consent = await findEarlierConsent(deps, authRequest, session, state.businessId);
  const path = readReturnTo(submitted.request.body.return_to, deps.consentUrl);
  const problem = { field: 'optional_scope', message: 'Tick at least one, or choose Deny.' };
  return showConsent(deps, reply, { ...submitted, consent, ticked: [], path, problem });
}

function findEarlierConsent(
  { storage }: WebDeps,
  { app }: AuthorizationRequest,
  { user }: Session,
  businessId: string,
) {
  return findConsent(storage.durable, { userId: user.id, appId: app.id, businessId });
}

interface ShownConsent extends ConsentContext {
  consent: Consent;
  ticked: Scopes;
  /** The URL that opens this screen again. */
  path: string;
  /** Whether the user has just switched to this business on the screen. */
  isSwitched?: boolean;
  problem?: Problem;
}

async function showConsent(deps: WebDeps, reply: FastifyReply, shown: ShownConsent): Promise<FastifyReply> {
  const { storage, keys, platformName, issuer, consentUrl } = deps;
  const { request, authRequest, session, state, consent, ticked, path, isSwitched = false, problem } = shown;
  const db = storage.durable;
  const owner = await findBusiness(db, authRequest.app.ownerBusinessId ?? '');
  const page = consentScreen({
    platformName,
    authRequest,
    consent,
    ticked,
    isSwitched,
    problem,
    ownerName: makerName(authRequest.app, owner?.name, platformName),
    state: signConsentState(keys, state),
    sites: [issuer, consentUrl],
    context: {
      user: session.user,
      csrf: request.csrfToken,
      current: await findMembership(db, session.user.id, state.businessId),
      memberships: await listMemberships(db, session.user.id),
      path,
    },
  });
  const formTargets = [cspSource(authRequest.callback.redirectUri), issuer];
  return sendPage(reply, page, { status: problem ? 400 : 200, formTargets });
}
