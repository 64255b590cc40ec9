import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { mountAllApps } from './apps.ts';
import { mountPlatformAuditLog } from './audit-log.ts';
import { mountBusinesses } from './businesses.ts';
import { mountPlatformApps } from './developer-apps.ts';
import { mountUserRecovery } from './user-recovery.ts';
import { mountUsers } from './users.ts';

/** To anyone but a platform admin these pages do not exist, signed in or not, however they are asked. */
export function mountPlatform(host: FastifyInstance, deps: WebDeps): void {
  host.register(async (scope) => {
    const admit = async (request: FastifyRequest) => {
      if (!request.session?.user.isPlatformAdmin) throw notFound();
    };
    scope.addHook('onRequest', admit);
    scope.addHook('preValidation', admit);
    scope.get('/platform', async (_, reply) => reply.redirect('/platform/apps', 303));
    for (const mount of [
      mountAllApps,
      mountPlatformApps,
      mountBusinesses,
      mountUsers,
      mountUserRecovery,
      mountPlatformAuditLog,
    ]) {
      mount(scope, deps);
    }
  });
}
