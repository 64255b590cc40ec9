import { fastifyCookie } from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ABSOLUTE_LIFETIME, resumeSession, type Session } from '../accounts/sessions.ts';
import { userActor } from '../accounts/users.ts';
import type { UserActor } from '../audit/entries.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { type Keyring, sign, verifySignature } from '../lib/keyring.ts';
import { newSecret } from '../lib/secrets.ts';
import type { WebDeps } from './deps.ts';
import { forbidden, SecondFactorRequired, SignInRequired, sessionExpired } from './errors.ts';
import { readReturnTo } from './return-to.ts';

/** `__Host-`: browsers accept these cookies only over https and only from this exact host. */
const SESSION_COOKIE = '__Host-session';
const VISITOR_COOKIE = '__Host-visitor';
const MAX_USER_AGENT_LENGTH = 200;
export const COOKIE_OPTIONS = { path: '/', secure: true, httpOnly: true, sameSite: 'lax' } as const;

declare module 'fastify' {
  interface FastifyRequest {
    session: Session | undefined;
    /** Identifies a browser, signed in or not. */
    visitorId: string;
    csrfToken: string;
    /** The page that the form was sent from, according to the Referer header. */
    formPage: string;
  }
}

/** For error pages outside the web routes: reads the Cookie header itself. */
export async function findSession(
  { storage, keys, clock }: WebDeps,
  cookieHeader: string,
): Promise<{ session: Session | undefined; csrfToken: string } | undefined> {
  const { [SESSION_COOKIE]: sessionId, [VISITOR_COOKIE]: visitorId } = fastifyCookie.parse(cookieHeader);
  if (!sessionId || !visitorId) return undefined;
  const session = await resumeSession(storage.durable, sessionId, clock());
  return { session, csrfToken: createCsrfToken(keys, { visitorId, sessionId }) };
}

/** Loads the session of every request, and verifies the CSRF token of every form. */
export function addSessionHooks(host: FastifyInstance, deps: WebDeps): void {
  const { storage, keys, clock, consentUrl, limits } = deps;
  host.decorateRequest('session', undefined);
  host.decorateRequest('visitorId', '');
  host.decorateRequest('csrfToken', '');
  host.decorateRequest('formPage', '/');
  host.addHook('onRequest', async (request, reply) => {
    const sessionId = request.cookies[SESSION_COOKIE];
    request.session = sessionId === undefined ? undefined : await resumeSession(storage.durable, sessionId, clock());
    request.visitorId = ensureVisitorId(request, reply);
    request.csrfToken = createCsrfToken(keys, { visitorId: request.visitorId, sessionId });
    request.formPage = readFormPage(request, consentUrl);
    if (request.session && !isRateLimitExempt(request)) await limits.perUser.count(request.session.user.id);
  });
  // A slow body may take half a minute, and the session may end meanwhile.
  host.addHook('preValidation', async (request) => {
    if (!isSafeMethod(request)) await resumeAfterBody(request, deps);
  });
  host.addHook('preHandler', async (request) => {
    if (isSafeMethod(request)) return;
    const { visitorId, session } = request;
    verifyCsrfToken(request, keys, { visitorId, sessionId: request.cookies[SESSION_COOKIE] }, consentUrl);
    if (session && !isRateLimitExempt(request)) await limits.changesPerUser.count(session.user.id);
  });
}

export async function resumeAfterBody(request: FastifyRequest, { storage, clock }: WebDeps): Promise<void> {
  const { session } = request;
  if (session) request.session = await resumeSession(storage.durable, session.id, clock());
}

/** The consent page counts requests itself, since it redirects to the app when there are too many. Sign-out is unlimited. */
function isRateLimitExempt({ method, routeOptions }: FastifyRequest): boolean {
  return (method === 'GET' && routeOptions.url === '/consent') || routeOptions.url === '/sign-out';
}

/** RFC 9110 §9.2.1. */
export function isSafeMethod({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

export function requireSession(request: FastifyRequest): Session {
  if (request.session) return request.session;
  throw isSafeMethod(request) ? new SignInRequired(request.url) : sessionExpired(request.formPage);
}

/** Before this, nothing of a business is shown, and nothing is changed. */
export function requireSecondFactor(request: FastifyRequest, returnTo?: string): void {
  if (!request.session?.lacksSecondFactor) return;
  throw new SecondFactorRequired(returnTo ?? (isSafeMethod(request) ? request.url : request.formPage));
}

/** Prevents adding a passkey or an authenticator app, or opening another account, from an unattended browser. */
const MAX_SIGN_IN_AGE = 15 * MINUTE;

export function hasSignedInRecently({ signedInAt }: Session, now: number): boolean {
  return now - signedInAt < MAX_SIGN_IN_AGE;
}

/** For a form. After the sign-in, the user returns to the page that it is on. */
export function requireRecentSignIn(request: FastifyRequest, page: string, now: number): void {
  if (!hasSignedInRecently(requireSession(request), now)) throw new SignInRequired(page, 'sign_in_again');
}

export function setSessionCookie(reply: FastifyReply, session: Session): void {
  reply.setCookie(SESSION_COOKIE, session.id, { ...COOKIE_OPTIONS, maxAge: ABSOLUTE_LIFETIME / SECOND });
}

export function clearSessionCookie(reply: FastifyReply): void {
  reply.clearCookie(SESSION_COOKIE, COOKIE_OPTIONS);
}

/** The actor of audit entries. Platform admins act for the platform on its own pages only. */
export function actorOf(request: FastifyRequest): UserActor {
  const { user } = requireSession(request);
  const kind = request.routeOptions.url?.startsWith('/platform/') ? 'platform' : 'user';
  return { ...userActor(user, request.ip), kind };
}

/** Browser and IP address, as listed with a session. */
export function clientOf(request: FastifyRequest): { browser: string; address: string } {
  const browser = request.headers['user-agent']?.slice(0, MAX_USER_AGENT_LENGTH) ?? 'Unknown browser';
  return { browser, address: request.ip };
}

/** Set before sign-in, too, so that the sign-in form has a CSRF token. */
function ensureVisitorId(request: FastifyRequest, reply: FastifyReply): string {
  const known = request.cookies[VISITOR_COOKIE];
  if (known) return known;
  const visitorId = newSecret();
  reply.setCookie(VISITOR_COOKIE, visitorId, COOKIE_OPTIONS);
  return visitorId;
}

function readFormPage(request: FastifyRequest, consentUrl: string): string {
  const page = isSafeMethod(request) ? null : URL.parse(request.headers.referer ?? '');
  return page?.origin === consentUrl ? readReturnTo(page.pathname + page.search, consentUrl) : '/';
}

/** The browser that a token is valid in: both ids are the values of its cookies. */
interface BrowserIds {
  visitorId: string;
  sessionId: string | undefined;
}

function createCsrfToken(keys: Keyring, ids: BrowserIds): string {
  return sign(keys, 'csrf', signedText(ids));
}

/** Accepts a form only from a page of this origin that was rendered for this browser. */
function verifyCsrfToken(request: FastifyRequest, keys: Keyring, ids: BrowserIds, webOrigin: string): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  const foreign = (origin !== undefined && origin !== webOrigin) || (site !== undefined && site !== 'same-origin');
  if (foreign) throw forbidden(({ errors }) => errors.foreignForm);
  const csrf = (request.body as Record<string, unknown> | null | undefined)?.csrf;
  if (typeof csrf === 'string' && verifySignature(keys, 'csrf', signedText(ids), csrf)) return;
  throw forbidden(({ errors }) => {
    if (request.cookies[VISITOR_COOKIE] === undefined) {
      return webOrigin.startsWith('https:') ? errors.noCookies : `${errors.noCookies} ${errors.noCookiesInSafari}`;
    }
    const isSignedOut = ids.sessionId === undefined && request.routeOptions.config.access !== 'anyone';
    return isSignedOut ? errors.signedOut : errors.foreignForm;
  });
}

/**
 * Uses the session cookie, not the live session: a form sent after its session expired still comes from this browser and
 * leads to the sign-in page. Signing in or out replaces the cookie and so invalidates every earlier token.
 */
function signedText({ visitorId, sessionId = '' }: BrowserIds): string {
  return `${visitorId} ${sessionId}`;
}
