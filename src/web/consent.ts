import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findBusiness } from '../accounts/businesses.ts';
import { findMembership, listMemberships, type Membership } from '../accounts/memberships.ts';
import { resumeSession, type Session } from '../accounts/sessions.ts';
import { setCurrentBusiness } from '../accounts/users.ts';
import {
  type Consent,
  chooseScopes,
  denyApp,
  findConsent,
  scopesAllowedBefore,
  undecidedScopes,
} from '../grants/consents.ts';
import { boundBusiness, findActingMembership, mayActIn } from '../grants/tenancy.ts';
import { TooManyRequests } from '../lib/errors.ts';
import { isId, newId } from '../lib/ids.ts';
import { rawQuery } from '../lib/query.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import { commonScopes, formatScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import { codeLocation } from '../oauth/authorize/callback.ts';
import { issueCode, issueCodeSilently } from '../oauth/authorize/issue-code.ts';
import { type AuthorizationRequest, readAuthorizationRequest, readStamp } from '../oauth/authorize/request.ts';
import { CallbackError, OAuthError } from '../oauth/errors.ts';
import { access } from './access.ts';
import { isStale, newQuestion, type Question, readQuestion, sealQuestion } from './consent-question.ts';
import { consentScreen } from './consent-screen.ts';
import type { WebDeps } from './deps.ts';
import { notFound, PageError, SignInRequired, sessionExpired } from './errors.ts';
import { type Form, list, type Problem, text } from './forms.ts';
import { sendPage } from './layout.ts';
import { cspSource, readReturnTo } from './return-to.ts';
import { actorOf } from './session.ts';

export function mountConsent(host: FastifyInstance, deps: WebDeps): void {
  host.get('/consent', access('anyone'), (request, reply) => askConsent(deps, request, reply));
  host.post<{ Body: Form }>('/consent', access('anyone'), (request, reply) => answerConsent(deps, request, reply));
}

async function askConsent(deps: WebDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { storage, keys, clock, issuer } = deps;
  const { query, askedAt } = readStamp(keys, rawQuery(request.url), clock());
  const asked = await readAuthorizationRequest(storage.durable, query);
  if (askedAt === null) return startOver(deps, reply, query);
  const session = requireSignIn(request, asked, askedAt);
  await countFor(deps.limits.perUser, asked, session);
  const { businessId } = await requireMembership(deps, asked, session);
  const parties = { userId: session.user.id, appId: asked.app.id, businessId };
  const consent = await findConsent(storage.durable, parties);

  if (needsNoScreen(asked, consent)) {
    await countFor(deps.limits.changesPerUser, asked, session);
    const authorization = { request: asked, businessId, sessionId: session.id, grantId: newId(clock()) };
    const code = await issueCodeSilently(actorOf(request), { db: storage.durable, keys }, authorization, clock());
    return code ? reply.redirect(codeLocation(asked.callback, code, issuer), 303) : startOver(deps, reply, query);
  }
  if (asked.prompt === 'none') {
    const description = 'The user has yet to allow this; ask without prompt=none.';
    throw new CallbackError(asked.callback, new OAuthError('consent_required', 'consent_required', description));
  }
  const question = newQuestion({ query, businessId, scopes: asked.scopes, session }, clock());
  const ticked = scopesBeyond(asked.optionalScopes, consent.declined);
  return showConsent(deps, reply, { request, asked, session, question, consent, ticked, path: request.url });
}

/** With `prompt=none` the app may be waiting in a hidden frame, so the response goes to the app. */
async function countFor(limit: RateLimit, { prompt, callback }: AuthorizationRequest, { user }: Session) {
  try {
    await limit.count(user.id);
  } catch (error) {
    if (!(error instanceof TooManyRequests) || prompt !== 'none') throw error;
    const description = `This user has been sent here too often. Try again in ${error.retryAfter} s.`;
    const code = 'temporarily_unavailable';
    throw new CallbackError(callback, new OAuthError(code, code, description));
  }
}

/** What is optional, and was never asked about, is no reason to fail where no page may ask: the app can do without. */
function needsNoScreen(asked: AuthorizationRequest, consent: Consent): boolean {
  if (asked.app.ownerScope === 'platform') return true;
  if (scopesAllowedBefore(asked, consent).length === 0) return false;
  return asked.prompt === 'none' || undecidedScopes(asked, consent).length === 0;
}

async function answerConsent(
  deps: WebDeps,
  request: FastifyRequest<{ Body: Form }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { storage, keys, clock, issuer, consentUrl } = deps;
  const { session } = request;
  const returnTo = readReturnTo(request.body.return_to, consentUrl);
  if (!session) throw sessionExpired(returnTo);
  const question = readQuestion(keys, request.body, session);
  const { query, grantId, businessId } = question;
  const asked = await readAuthorizationRequest(storage.durable, query);
  const mayChoose = boundBusiness(asked.app) === null;
  const chosen = mayChoose && (await switchBusiness(deps, session, question, request.body));
  if (chosen) return askAbout(deps, reply, { request, asked, session, question: { ...question, businessId: chosen } });
  if (text(request.body, 'answer') !== 'allow') {
    await denyApp(actorOf(request), storage.durable, { app: asked.app, businessId }, clock());
    const refusal = new OAuthError('access_denied', 'denied_by_user', 'The user did not allow it.');
    throw new CallbackError(asked.callback, refusal);
  }
  const mayStill = await mayActIn(storage.durable, asked.app, session.user, businessId);
  const isSame = formatScopes(asked.scopes) === formatScopes(question.scopes);
  if (isStale(question, clock()) || !mayStill || !isSame) return startOver(deps, reply, query);

  const decision = chooseScopes(asked, list(request.body, 'optional_scope'));
  if (decision.allowed.length === 0) return askForSomething(deps, reply, { request, asked, session, question });
  const authorization = { request: asked, grantId, sessionId: session.id, businessId, decision };
  const code = await issueCode(actorOf(request), { db: storage.durable, keys }, authorization, clock());
  if (!code) throw (await resumeSession(storage.durable, session.id, clock())) ? answered() : sessionExpired(returnTo);
  return reply.redirect(codeLocation(asked.callback, code, issuer), 303);
}

/** Another business was chosen on the screen than it was about: then the question has to be put anew. */
async function switchBusiness(
  { storage }: WebDeps,
  { user }: Session,
  question: Question,
  form: Form,
): Promise<string | undefined> {
  const [answer, chosen] = [text(form, 'answer'), text(form, 'business')];
  if (answer === 'deny' || chosen === '' || (chosen === question.businessId && answer !== 'switch')) return undefined;
  if (!isId(chosen) || !(await findMembership(storage.durable, user.id, chosen))) throw notFound();
  await setCurrentBusiness(storage.durable, user.id, chosen);
  return chosen;
}

/** The same question about the business that was chosen, with the ticks as they were left. */
async function askAbout(deps: WebDeps, reply: FastifyReply, asking: Answering): Promise<FastifyReply> {
  const { request, asked, session, question } = asking;
  const { query, businessId } = question;
  const consent = await findEarlier(deps, asking);
  if (isStale(question, deps.clock()) || needsNoScreen(asked, consent)) return startOver(deps, reply, query);
  const ticked = commonScopes(asked.optionalScopes, list(request.body, 'optional_scope'));
  const path = readReturnTo(request.body.return_to, deps.consentUrl);
  const again = newQuestion({ query, businessId, scopes: asked.scopes, session }, deps.clock());
  return showConsent(deps, reply, { ...asking, question: again, consent, ticked, path, isChosen: true });
}

/** Round by the authorize endpoint, where the request is checked and stamped anew. */
function startOver({ issuer }: WebDeps, reply: FastifyReply, query: string): FastifyReply {
  return reply.redirect(`${issuer}/api/v1/oauth/authorize?${query}`, 303);
}

/** Someone went back and allowed it once more: that must not mint a second code, nor undo a disconnect in between. */
function answered(): PageError {
  return new PageError(409, 'Answered already', 'You have answered this before. Go back to the app and start again.');
}

function requireSignIn(request: FastifyRequest, asked: AuthorizationRequest, askedAt: number): Session {
  const { session } = request;
  if (!session && asked.prompt === 'none') {
    const description = 'Nobody is signed in; ask without prompt=none.';
    throw new CallbackError(asked.callback, new OAuthError('login_required', 'login_required', description));
  }
  if (!session || (asked.prompt === 'login' && session.signedInAt < askedAt)) throw new SignInRequired(request.url);
  return session;
}

async function requireMembership(
  { storage }: WebDeps,
  asked: AuthorizationRequest,
  session: Session,
): Promise<Membership> {
  const membership = await findActingMembership(storage.durable, asked.app, session.user);
  if (membership) return membership;
  const description = 'The signed-in user is not a member of a business that this app may act in.';
  throw new CallbackError(asked.callback, new OAuthError('access_denied', 'not_a_member', description));
}

interface Asking {
  request: FastifyRequest;
  asked: AuthorizationRequest;
  session: Session;
  question: Question;
}

type Answering = Asking & { request: FastifyRequest<{ Body: Form }> };

/** Everything was optional, and nothing was ticked: a code for nothing would help nobody. */
async function askForSomething(deps: WebDeps, reply: FastifyReply, asking: Answering): Promise<FastifyReply> {
  const consent = await findEarlier(deps, asking);
  const path = readReturnTo(asking.request.body.return_to, deps.consentUrl);
  const problem = { field: 'optional_scope', message: 'Tick at least one, or choose Deny.' };
  return showConsent(deps, reply, { ...asking, consent, ticked: [], path, problem });
}

function findEarlier({ storage }: WebDeps, { asked, session, question }: Asking): Promise<Consent> {
  const parties = { userId: session.user.id, appId: asked.app.id, businessId: question.businessId };
  return findConsent(storage.durable, parties);
}

interface Showing extends Asking {
  consent: Consent;
  ticked: Scopes;
  /** Where this screen can be opened again. */
  path: string;
  /** Whether the business was chosen on the screen just before. */
  isChosen?: boolean;
  problem?: Problem;
}

async function showConsent(deps: WebDeps, reply: FastifyReply, showing: Showing): Promise<FastifyReply> {
  const { storage, keys, platformName, issuer, consentUrl } = deps;
  const { request, asked, session, question, consent, ticked, path, isChosen = false, problem } = showing;
  const db = storage.durable;
  const owner = await findBusiness(db, asked.app.ownerBusinessId ?? '');
  const page = consentScreen({
    platformName,
    asked,
    consent,
    ticked,
    isChosen,
    problem,
    ownerName: owner?.name ?? platformName,
    question: sealQuestion(keys, question),
    sites: [issuer, consentUrl],
    context: {
      user: session.user,
      csrf: request.csrfToken,
      current: await findMembership(db, session.user.id, question.businessId),
      memberships: await listMemberships(db, session.user.id),
      path,
    },
  });
  const formTargets = [cspSource(asked.callback.redirectUri), issuer];
  return sendPage(reply, page, { status: problem ? 400 : 200, formTargets });
}
