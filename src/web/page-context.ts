import type { FastifyRequest } from 'fastify';
import { findCurrentMembership, listMemberships } from '../accounts/memberships.ts';
import type { Session } from '../accounts/sessions.ts';
import { flashMessage } from './flash.ts';
import type { ErrorNavigation } from './errors.ts';
import type { PageContext } from './layout.ts';
import type { WebDeps } from './deps.ts';
import { findVisitor, isReading, requireSession } from './session.ts';

/** Where a signed-in person is: as whom, for which business, on which page. */
export async function loadPageContext(
  parts: WebDeps,
  request: FastifyRequest,
): Promise<PageContext & { session: Session }> {
  const session = requireSession(request);
  const db = parts.storage.durable;
  return {
    session,
    user: session.user,
    csrf: request.visit.csrf,
    current: await findCurrentMembership(db, session.user),
    memberships: await listMemberships(db, session.user.id),
    here: request.url,
    // Where a form answers with a page, there is nothing to come back to.
    path: isReading(request) ? request.url.replace(/[?&]done=[^&]*/, '') : '/',
    done: isReading(request) ? flashMessage(request.query) : undefined,
  };
}

/** From a page that is not there. Whatever address was asked for, the answer to one person is the same. */
export async function loadErrorNavigation(parts: WebDeps, request: FastifyRequest): Promise<ErrorNavigation> {
  const visitor = await findVisitor(parts, request.headers.cookie ?? '');
  if (!visitor?.session) return { at: undefined };
  const { user } = visitor.session;
  const db = parts.storage.durable;
  const current = await findCurrentMembership(db, user);
  const memberships = await listMemberships(db, user.id);
  return { at: { user, csrf: visitor.csrf, current, memberships, path: '/' } };
}
