import type { FastifyRequest } from 'fastify';
import { findCurrentMembership, listMemberships, type Membership } from '../accounts/memberships.ts';
import type { Session } from '../accounts/sessions.ts';
import { isBusinessRoute } from './business-address.ts';
import type { WebDeps } from './deps.ts';
import type { ErrorNavigation } from './errors.ts';
import { flashMessage } from './flash.ts';
import type { PageContext } from './layout.ts';
import { findSession, isSafeMethod, requireSession } from './session.ts';

type SessionContext = PageContext & { session: Session };

declare module 'fastify' {
  interface FastifyRequest {
    /** Loaded once per request. */
    pageContext: SessionContext | undefined;
  }
}

/** What every page for a signed-in user shows around its body. */
export async function loadPageContext(deps: WebDeps, request: FastifyRequest): Promise<SessionContext> {
  request.pageContext ??= await buildPageContext(deps, request);
  return request.pageContext;
}

async function buildPageContext(deps: WebDeps, request: FastifyRequest): Promise<SessionContext> {
  const session = requireSession(request);
  const db = deps.storage.durable;
  const memberships = await listMemberships(db, session.user.id);
  const named = isBusinessRoute(request.routeOptions.url) ? findBusinessOf(request, memberships) : undefined;
  if (named) request.subject = { businessId: named.businessId };
  return {
    session,
    user: session.user,
    csrf: request.csrfToken,
    current: isBusinessRoute(request.routeOptions.url) ? named : await findCurrentMembership(db, session.user),
    memberships,
    menuPath: request.url,
    // The URL of a POST cannot be opened with GET.
    path: isSafeMethod(request) ? request.url.replace(/[?&]done=[^&]*/, '') : '/',
    flash: isSafeMethod(request) ? flashMessage(request.query) : undefined,
  };
}

/** The business that the address names, if the user is a member of it. The business that they chose last is ignored. */
function findBusinessOf({ params }: FastifyRequest, memberships: Membership[]): Membership | undefined {
  const { business } = params as { business: string };
  return memberships.find(({ businessId }) => businessId === business);
}

/** Independent of the address: for one user, every page that is not found looks the same. */
export async function loadErrorNavigation(deps: WebDeps, request: FastifyRequest): Promise<ErrorNavigation> {
  const found = await findSession(deps, request.headers.cookie ?? '');
  if (!found?.session) return { context: undefined };
  const { user } = found.session;
  const db = deps.storage.durable;
  const current = await findCurrentMembership(db, user);
  const memberships = await listMemberships(db, user.id);
  return { context: { user, csrf: found.csrfToken, current, memberships, path: '/' } };
}
