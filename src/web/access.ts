import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Membership } from '../accounts/memberships.ts';
import type { WebDeps } from './deps.ts';
import { notFound } from './errors.ts';
import type { PageContext } from './layout.ts';
import { loadPageContext } from './page-context.ts';
import { notFoundOrOtherBusiness, requireSecondFactor, requireSession } from './session.ts';

/** Who may open a page. Member, admin and owner are roles in the current business; each includes the ones above it. */
export type Access = 'anyone' | 'signed_in' | 'member' | 'admin' | 'owner' | 'platform_admin';

/** Other businesses of the user in which they may open the page: the error page offers to switch to them. */
type FindOtherBusinesses = (request: FastifyRequest, context: PageContext) => Promise<Membership[]>;

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
    /** Whether the page can be opened before the user has verified a second factor. */
    isBeforeSecondFactor?: boolean;
    findOtherBusinesses?: FindOtherBusinesses | undefined;
  }
}

export type RouteAccess = ReturnType<typeof access>;

/** The route options that declare who may open a page. */
export function access(level: Access, findOtherBusinesses?: FindOtherBusinesses) {
  return { config: { access: level, findOtherBusinesses } };
}

/** For the pages on which a signed-in user sets up a second factor. They check themselves what a session may do. */
export function accessBeforeSecondFactor() {
  return { config: { access: 'signed_in' as const, isBeforeSecondFactor: true } };
}

const ROLES = { member: ['member', 'admin', 'owner'], admin: ['admin', 'owner'], owner: ['owner'] };

/** Every route declares its access, and is checked before its handler runs. After the CSRF check, so add the session hooks first. */
export function addAccessHooks(host: FastifyInstance, deps: WebDeps): void {
  host.decorateRequest('pageContext', undefined);
  host.addHook('onRoute', ({ method, url, config }) => {
    if (!config?.access) throw new Error(`${method} ${url} does not declare who may open it.`);
  });
  // Before the body is read: to anyone else, the platform's pages do not exist, whatever the body is.
  host.addHook('onRequest', async (request) => hidePlatform(request));
  host.addHook('preValidation', async (request) => hidePlatform(request));
  host.addHook('preHandler', async (request) => {
    const { access: level, findOtherBusinesses, isBeforeSecondFactor } = request.routeOptions.config;
    if (level === 'signed_in') requireSession(request);
    if (level !== 'anyone' && !isBeforeSecondFactor) requireSecondFactor(request);
    if (level !== 'member' && level !== 'admin' && level !== 'owner') return;
    const context = await loadPageContext(deps, request);
    if (context.current && isRoleAllowed(request, context.current)) return;
    throw notFoundOrOtherBusiness((await findOtherBusinesses?.(request, context)) ?? [], request);
  });
}

/** Whether the role is enough for the declared access of the route. */
export function isRoleAllowed({ routeOptions }: FastifyRequest, { role }: Pick<Membership, 'role'>): boolean {
  const { access: level } = routeOptions.config;
  return level === 'member' || level === 'admin' || level === 'owner' ? ROLES[level].includes(role) : true;
}

function hidePlatform({ routeOptions, session }: FastifyRequest): void {
  if (routeOptions.config.access === 'platform_admin' && !session?.user.isPlatformAdmin) throw notFound();
}
