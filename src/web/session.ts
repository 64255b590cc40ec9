import { fastifyCookie } from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Membership } from '../accounts/memberships.ts';
import { ABSOLUTE_LIFETIME, resumeSession, type Session } from '../accounts/sessions.ts';
import { userActor } from '../accounts/user-acts.ts';
import type { UserActor } from '../audit/acts.ts';
import { SECOND } from '../lib/clock.ts';
import { isSigned, type Keyring, sign } from '../lib/keyring.ts';
import { newSecret } from '../lib/secrets.ts';
import type { WebDeps } from './deps.ts';
import { forbidden, notFound, OtherBusiness, SignInRequired, sessionOver } from './errors.ts';
import { readReturnTo } from './return-to.ts';

/** `__Host-`: the browser itself refuses the cookie from any other host, or over plain http from anywhere but here. */
const SESSION = '__Host-session';
const VISITOR = '__Host-visitor';
const LONGEST_BROWSER = 200;
export const COOKIE = { path: '/', secure: true, httpOnly: true, sameSite: 'lax' } as const;

/** One browser asking for one page. */
interface Visit {
  session: Session | undefined;
  /** Tells browsers apart, signed in or not. */
  visitor: string;
  /** The page whose form was sent, as far as the browser tells. */
  formPage: string;
  /** Goes into every form; only a page of ours, in this browser, can have it. */
  csrf: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    visit: Visit;
  }
}

/** Who asks, where no page was found that would know. Without the cookie that forms are tied to, nobody. */
export async function findVisitor(
  { storage, keys, clock }: WebDeps,
  header: string,
): Promise<Pick<Visit, 'session' | 'csrf'> | undefined> {
  const { [SESSION]: id, [VISITOR]: visitor } = fastifyCookie.parse(header);
  if (!id || !visitor) return undefined;
  return {
    session: await resumeSession(storage.durable, id, clock()),
    csrf: sign(keys, 'csrf', csrfBase(visitor, id)),
  };
}

/** Before any page: who is here. Before any change: whether a page of ours asked for it. */
export function recogniseVisitors(host: FastifyInstance, parts: WebDeps): void {
  const { storage, keys, clock, consentUrl, limits } = parts;
  host.decorateRequest('visit');
  host.addHook('onRequest', async (request, reply) => {
    const id = request.cookies[SESSION];
    const session = id === undefined ? undefined : await resumeSession(storage.durable, id, clock());
    const visitor = visitorOf(request, reply);
    const formPage = formPageOf(request, consentUrl);
    request.visit = { session, visitor, formPage, csrf: sign(keys, 'csrf', csrfBase(visitor, id)) };
    if (session && !isCountedElsewhere(request)) await limits.perUser.count(session.user.id);
  });
  // A body may take half a minute to come: whoever was signed out meanwhile is so by then.
  host.addHook('preValidation', async (request) => {
    const { session } = request.visit;
    if (session && !isReading(request))
      request.visit.session = await resumeSession(storage.durable, session.id, clock());
  });
  host.addHook('preHandler', async (request) => {
    if (isReading(request)) return;
    refuseForeign(request, keys, consentUrl);
    const { session } = request.visit;
    if (session && !isCountedElsewhere(request)) await limits.changesPerUser.count(session.user.id);
  });
}

/** The consent screen counts by itself, since it may have to respond to the app. Signing out is always possible. */
function isCountedElsewhere({ method, routeOptions }: FastifyRequest): boolean {
  return (method === 'GET' && routeOptions.url === '/consent') || routeOptions.url === '/sign-out';
}

export function isReading({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

export function requireSession(request: FastifyRequest): Session {
  if (request.visit.session) return request.visit.session;
  throw isReading(request) ? new SignInRequired(request.url) : sessionOver(request.visit.formPage);
}

/** Not found, unless the user may open the page after switching to one of these businesses. */
export function notFoundUnlessIn(businesses: Membership[], request: FastifyRequest): Error {
  if (businesses.length === 0) return notFound();
  if (isReading(request)) return new OtherBusiness(businesses, request.url, 'Switch to the business to open it.');
  const sentence = 'You now act for another business. Nothing was changed.';
  return new OtherBusiness(businesses, request.visit.formPage, sentence);
}

export function keepSession(reply: FastifyReply, session: Session): void {
  reply.setCookie(SESSION, session.id, { ...COOKIE, maxAge: ABSOLUTE_LIFETIME / SECOND });
}

export function dropSession(reply: FastifyReply): void {
  reply.clearCookie(SESSION, COOKIE);
}

/** Whom to name in the audit log. What is done on the platform's pages is done in its name. */
export function actorOf(request: FastifyRequest): UserActor {
  const { user } = requireSession(request);
  const kind = request.routeOptions.url?.startsWith('/platform/') ? 'platform' : 'user';
  return { ...userActor(user, request.ip), kind };
}

/** What a person will know a session by. */
export function browserOf(request: FastifyRequest): { browser: string; address: string } {
  const browser = request.headers['user-agent']?.slice(0, LONGEST_BROWSER) ?? 'Unknown browser';
  return { browser, address: request.ip };
}

/** A visitor has a cookie before having a session, so that even the sign-in form can be tied to its browser. */
function visitorOf(request: FastifyRequest, reply: FastifyReply): string {
  const known = request.cookies[VISITOR];
  if (known) return known;
  const visitor = newSecret();
  reply.setCookie(VISITOR, visitor, COOKIE);
  return visitor;
}

/**
 * What a CSRF token signs. By the cookie, and not by the live session: a form that is sent after its session has expired
 * is still from this browser, and leads to the sign-in page. Signing in and out replaces the cookie, and so every token.
 */
function csrfBase(visitor: string, sessionId = ''): string {
  return `${visitor} ${sessionId}`;
}

function formPageOf(request: FastifyRequest, consentUrl: string): string {
  const page = isReading(request) ? null : URL.parse(request.headers.referer ?? '');
  return page?.origin === consentUrl ? readReturnTo(page.pathname + page.search, consentUrl) : '/';
}

function refuseForeign(request: FastifyRequest, keys: Keyring, consentUrl: string): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  const foreign = (origin !== undefined && origin !== consentUrl) || (site !== undefined && site !== 'same-origin');
  const csrf = (request.body as Record<string, unknown> | null | undefined)?.csrf;
  const base = csrfBase(request.visit.visitor, request.cookies[SESSION]);
  if (foreign || typeof csrf !== 'string' || !isSigned(keys, 'csrf', base, csrf)) {
    throw forbidden(
      'This form did not come from a page opened in this browser. Go back, reload the page and try again.',
    );
  }
}
