import type { FastifyInstance } from 'fastify';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { mountAllApps } from './apps.ts';
import { mountPlatformAuditLog } from './audit-log.ts';
import { mountBusinesses } from './businesses.ts';
import { mountPlatformApps } from './developer-apps.ts';
import { mountUsers } from './users.ts';

/** The access check hides these pages from everyone but platform admins. */
export function mountPlatform(host: FastifyInstance, deps: WebDeps): void {
  host.get('/platform', access('platform_admin'), async (_, reply) => reply.redirect('/platform/apps', 303));
  for (const mount of [mountAllApps, mountPlatformApps, mountBusinesses, mountUsers, mountPlatformAuditLog]) {
    mount(host, deps);
  }
}
