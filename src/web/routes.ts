import type { FastifyInstance } from 'fastify';
import { access, addAccessHooks } from './access.ts';
import { mountConsent } from './consent.ts';
import type { WebDeps } from './deps.ts';
import { mountInvitation } from './invitation.ts';
import { mountPasswordLink } from './password-link.ts';
import { mountAllApps } from './platform/apps.ts';
import { mountPlatformAuditLog } from './platform/audit-log.ts';
import { mountBusinesses } from './platform/businesses.ts';
import { mountPlatformApps } from './platform/developer-apps.ts';
import { mountUsers } from './platform/users.ts';
import { addSessionHooks } from './session.ts';
import { mountAccount } from './settings/account.ts';
import { mountAuditLog } from './settings/audit-log.ts';
import { mountConnectedApps } from './settings/connected-apps.ts';
import { mountCurrentBusiness } from './settings/current-business.ts';
import { mountDeveloper } from './settings/developer.ts';
import { mountMembers } from './settings/members/members.ts';
import { mountSignIn } from './sign-in.ts';
import { mountSignOut } from './sign-out.ts';

/** Pages that only some users may see respond 404 to everyone else, whatever the method. */
export function isHiddenPath(path: string): boolean {
  return /^\/(?:platform(?:\/|$)|settings\/(?:audit-log|members\/|developer\/))/.test(path);
}

/** Every page of the web host. */
export function mountWeb(host: FastifyInstance, deps: WebDeps): void {
  addSessionHooks(host, deps);
  addAccessHooks(host, deps);
  host.get('/', access('anyone'), async (_, reply) => reply.redirect('/settings/connected-apps', 303));
  for (const mount of [
    mountSignIn,
    mountSignOut,
    mountConsent,
    mountInvitation,
    mountPasswordLink,
    mountConnectedApps,
    mountMembers,
    mountAuditLog,
    mountDeveloper,
    mountAccount,
    mountCurrentBusiness,
    mountPlatform,
  ]) {
    mount(host, deps);
  }
}

/** The access check hides these pages from everyone but platform admins. */
function mountPlatform(host: FastifyInstance, deps: WebDeps): void {
  host.get('/platform', access('platform_admin'), async (_, reply) => reply.redirect('/platform/apps', 303));
  for (const mount of [mountAllApps, mountPlatformApps, mountBusinesses, mountUsers, mountPlatformAuditLog]) {
    mount(host, deps);
  }
}
