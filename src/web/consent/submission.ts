import type { FastifyReply, FastifyRequest } from 'fastify';
import { findMembership, type Membership } from '../../accounts/memberships.ts';
import { resumeSession } from '../../accounts/sessions.ts';
import { setCurrentBusiness } from '../../accounts/users.ts';
import type { Consent } from '../../grants/consents.ts';
import { denyApp } from '../../grants/decisions.ts';
import { ExternalBoundReached } from '../../grants/external-connections.ts';
import { chooseScopes } from '../../grants/requested-scopes.ts';
import { findActingMembership, timeOfAllow } from '../../grants/tenancy.ts';
import { mayConnectForBusiness } from '../../grants/transfers.ts';
import { isId } from '../../lib/ids.ts';
import { commonScopes, formatScopes } from '../../lib/scope-lists.ts';
import { findPermission, type Permit } from '../../oauth/authorize/permission.ts';
import { readAuthorizationRequest } from '../../oauth/authorize/request.ts';
import { codeLocation, issueCode, scopesToShow } from '../../oauth/authorize/response.ts';
import { needsNoScreen } from '../../oauth/authorize/silent.ts';
import { CallbackError, OAuthError } from '../../oauth/errors.ts';
import type { WebDeps } from '../deps.ts';
import { notFound, PageError, sessionExpired } from '../errors.ts';
import { type Form, list, type Problem, text, tryForm } from '../forms.ts';
import { textsOf } from '../language.ts';
import { readReturnTo } from '../return-to.ts';
import { actorOf, requireSecondFactor } from '../session.ts';
import { showBoundReached } from './bounds.ts';
import { readConnectedFor } from './connected-for.ts';
import { showRestriction, submitRestriction } from './restriction.ts';
import { type ConsentContext, findEarlierConsent, restart, showConsent } from './screen.ts';
import { createConsentState, hasSameTarget, isExpired, readConsentState } from './state.ts';
import { readEndField } from './until.ts';

type SubmittedConsent = ConsentContext & { request: FastifyRequest<{ Body: Form }> };

export async function submitConsent(
  deps: WebDeps,
  request: FastifyRequest<{ Body: Form }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const submitted = await readSubmission(deps, request);
  const { state } = submitted;
  const businessId = await switchBusiness(deps, submitted);
  if (businessId) return showOtherBusiness(deps, reply, { ...submitted, state: { ...state, businessId } });
  const texts = textsOf(deps, request);
  const decision = text(request.body, 'decision');
  if (decision === 'ask' || decision === 'back') return submitRestriction(deps, reply, submitted);
  if (decision !== 'allow') throw await deny(deps, submitted);
  const permission = await findPermissionOf(deps, submitted);
  if (permission.restriction)
    return showRestriction(deps, reply, { ...submitted, restriction: permission.restriction });
  const permitted = { ...submitted, authRequest: permission.request };
  const membership = await findAllowing(deps, permitted, permission.permit);
  if (!membership) return restart(deps, reply, state.query);
  const chosen = chooseScopes(permission.request, list(request.body, 'optional_scope'));
  // All scopes are optional, and none is ticked: a grant needs at least one.
  if (chosen.allowed.length === 0) {
    const problem = { field: 'optional_scope', message: texts.consent.nothingTicked };
    return showProblem(deps, reply, permitted, problem);
  }
  const earlier = await findEarlierConsent(deps, permission.request, submitted.session, state.businessId);
  return tryForm(
    async () => {
      const expiresAt = await readEndField(deps, request.body, earlier);
      return allow(
        deps,
        reply,
        { ...permitted, membership },
        { ...chosen, connectedFor: readConnectedFor(request.body), expiresAt },
      );
    },
    (problem) => showProblem(deps, reply, permitted, problem),
    texts,
  );
}

function findPermissionOf({ storage }: WebDeps, { authRequest, session: { user }, state }: SubmittedConsent) {
  const query = { request: authRequest, userId: user.id, businessId: state.businessId };
  return findPermission(storage.durable, query);
}

async function readSubmission(deps: WebDeps, request: FastifyRequest<{ Body: Form }>): Promise<SubmittedConsent> {
  const { session, body } = request;
  const path = readReturnTo(body.return_to, deps.consentUrl);
  if (!session) throw sessionExpired(path);
  requireSecondFactor(request, path);
  const state = readConsentState(deps.keys, body, session);
  const authRequest = await readAuthorizationRequest(deps, state.query, request.ip);
  return { request, authRequest, session, state, path };
}

/** Undefined unless the user selected another business than the screen was for. */
async function switchBusiness(
  { storage }: WebDeps,
  { request, authRequest, session: { user }, state }: SubmittedConsent,
): Promise<string | undefined> {
  if (authRequest.businessId !== null) return undefined;
  const [decision, chosen] = [text(request.body, 'decision'), text(request.body, 'business')];
  if (
    decision === 'deny' ||
    decision === 'back' ||
    chosen === '' ||
    (chosen === state.businessId && decision !== 'switch')
  )
    return undefined;
  if (!isId(chosen) || !(await findMembership(storage.durable, user.id, chosen))) throw notFound();
  await setCurrentBusiness(storage.durable, user.id, chosen);
  return chosen;
}

/** Records the denial and returns the error for the app. */
async function deny(
  { storage, clock }: WebDeps,
  { request, authRequest, state }: SubmittedConsent,
): Promise<CallbackError> {
  const { app, callback } = authRequest;
  await denyApp(actorOf(request), storage.durable, { app, businessId: state.businessId }, clock());
  return new CallbackError(callback, new OAuthError('access_denied', 'denied_by_user', 'The user did not allow it.'));
}

/** The membership in which the user allows. Undefined unless the screen was shown recently, for this app, redirect URI and scopes. */
async function findAllowing(
  deps: WebDeps,
  { authRequest, session, state }: SubmittedConsent,
  permit: Permit,
): Promise<Membership | undefined> {
  const { app, businessId: only } = authRequest;
  const { businessId } = state;
  if (isExpired(state, deps.clock()) || !hasSameTarget(state, authRequest) || (only !== null && only !== businessId))
    return undefined;
  const consent = await findEarlierConsent(deps, authRequest, session, businessId);
  if (formatScopes(scopesToShow(authRequest, consent, permit)) !== formatScopes(state.scopes)) return undefined;
  return findActingMembership(deps.storage.durable, { app, user: session.user, businessId });
}

async function allow(
  deps: WebDeps,
  reply: FastifyReply,
  submitted: SubmittedConsent & { membership: Membership },
  decision: Consent,
): Promise<FastifyReply> {
  const { storage, keys, clock, issuer } = deps;
  const { request, authRequest, session, state, path } = submitted;
  const { grantId, businessId, scopes: shown } = state;
  const authorization = { request: authRequest, grantId, sessionId: session.id, businessId, decision, shown };
  const codeDeps = { db: storage.durable, keys, bounds: deps.externalClients.bounds };
  const now = timeOfAllow(submitted.membership, clock());
  const code = await issueCode(actorOf(request), codeDeps, authorization, now).catch(boundReached);
  if (code instanceof ExternalBoundReached) return showBoundReached(deps, reply, submitted, code.of);
  if (code) return reply.redirect(codeLocation(authRequest.callback, code, issuer), 303);
  if (!(await resumeSession(storage.durable, session.id, clock()))) throw sessionExpired(path);
  const membership = await findMembership(storage.durable, session.user.id, businessId);
  const isRefused = decision.connectedFor === 'business' && !mayConnectForBusiness(authRequest.app, membership?.role);
  if (isRefused) return restart(deps, reply, state.query);
  // An owner has changed the rules while the user clicked.
  const { restriction } = await findPermissionOf(deps, submitted);
  if (restriction) return showRestriction(deps, reply, { ...submitted, restriction });
  throw alreadySubmitted();
}

function boundReached(error: unknown): ExternalBoundReached {
  if (error instanceof ExternalBoundReached) return error;
  throw error;
}

/** Shows the screen for the selected business, with the same boxes ticked. */
async function showOtherBusiness(
  deps: WebDeps,
  reply: FastifyReply,
  submitted: SubmittedConsent,
): Promise<FastifyReply> {
  const { request, session, state } = submitted;
  const { query, businessId } = state;
  const permission = await findPermissionOf(deps, submitted);
  const authRequest = permission.request ?? submitted.authRequest;
  const consent = await findEarlierConsent(deps, authRequest, session, businessId);
  if (isExpired(state, deps.clock())) return restart(deps, reply, query);
  const { restriction, permit } = permission;
  const scopes = permit ? scopesToShow(authRequest, consent, permit) : authRequest.scopes;
  const again = createConsentState({ authRequest, query, businessId, scopes, session }, deps.clock());
  if (restriction) return showRestriction(deps, reply, { ...submitted, state: again, restriction });
  if (needsNoScreen(authRequest, consent)) return restart(deps, reply, query);
  const ticked = commonScopes(authRequest.optionalScopes, list(request.body, 'optional_scope'));
  const ends = text(request.body, 'ends');
  return showConsent(deps, reply, { ...submitted, authRequest, state: again, consent, ticked, ends, isSwitched: true });
}

async function showProblem(
  deps: WebDeps,
  reply: FastifyReply,
  submitted: SubmittedConsent,
  problem: Problem,
): Promise<FastifyReply> {
  const { authRequest, session, state, request } = submitted;
  const consent = await findEarlierConsent(deps, authRequest, session, state.businessId);
  const ticked = list(request.body, 'optional_scope');
  const chosen = { ticked, connectedFor: readConnectedFor(request.body), ends: text(request.body, 'ends') };
  return showConsent(deps, reply, { ...submitted, ...chosen, consent, problem });
}

/** The user went back and clicked Allow again: that must not issue a second code, nor undo a disconnect in between. */
function alreadySubmitted(): PageError {
  return new PageError(409, ({ errors }) => errors.alreadySubmitted);
}
