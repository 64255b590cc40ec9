import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Role } from '../accounts/memberships.ts';
import { isBusinessRoute } from './business-address.ts';
import type { WebDeps } from './deps.ts';
import { notFound } from './errors.ts';
import { loadPageContext } from './page-context.ts';
import { requireSecondFactor, requireSession } from './session.ts';

/** Who may open a page. Member, admin and owner are roles in the business of its address; each includes the ones above it. */
export type Access = 'anyone' | 'signed_in' | 'member' | 'admin' | 'owner' | 'platform_admin';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
    /** Whether the page can be opened before the user has verified a second factor. */
    isBeforeSecondFactor?: boolean;
  }
}

export type RouteAccess = ReturnType<typeof access>;

/** The route options that declare who may open a page. */
export function access(level: Access) {
  return { config: { access: level } };
}

/** For the pages on which a signed-in user sets up a second factor. They check themselves what a session may do. */
export function accessBeforeSecondFactor() {
  return { config: { access: 'signed_in' as const, isBeforeSecondFactor: true } };
}

const ROLES: Record<Role, Role[]> = {
  member: ['member', 'admin', 'owner'],
  admin: ['admin', 'owner'],
  owner: ['owner'],
};

/** Every route declares its access, and is checked before its handler runs. After the CSRF check, so add the session hooks first. */
export function addAccessHooks(host: FastifyInstance, deps: WebDeps): void {
  host.decorateRequest('pageContext', undefined);
  host.addHook('onRoute', ({ method, url, config }) => {
    if (!config?.access) throw new Error(`${method} ${url} does not declare who may open it.`);
    // A role without a business would be the role in whichever business the user chose last, in any tab.
    if (isRole(config.access) !== isBusinessRoute(url)) {
      throw new Error(`${method} ${url}: a page declares a role if, and only if, its address names a business.`);
    }
  });
  // Before the body is read: to anyone else, the platform's pages do not exist, whatever the body is.
  host.addHook('onRequest', async (request) => hidePlatform(request));
  host.addHook('preValidation', async (request) => hidePlatform(request));
  host.addHook('preHandler', async (request) => {
    const { access: level, isBeforeSecondFactor } = request.routeOptions.config;
    if (level === 'signed_in') requireSession(request);
    if (level !== 'anyone' && !isBeforeSecondFactor) requireSecondFactor(request);
    if (!isRole(level)) return;
    const { current } = await loadPageContext(deps, request);
    // The error is the same for an unknown business, for one of others, and for a role that is not enough.
    if (!current || !ROLES[level].includes(current.role)) throw notFound();
  });
}

function isRole(level: Access | undefined): level is Role {
  return level !== undefined && Object.hasOwn(ROLES, level);
}

export function hidePlatform({ routeOptions, session }: FastifyRequest): void {
  if (routeOptions.config.access === 'platform_admin' && !session?.user.isPlatformAdmin) throw notFound();
}
