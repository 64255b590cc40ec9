import type { FastifyInstance } from 'fastify';
import { mountConsent } from './consent.ts';
import type { WebParts } from './parts.ts';
import { mountPlatformApps } from './platform/developer-apps.ts';
import { mountAccount } from './settings/account.ts';
import { mountConnectedApps } from './settings/connected-apps.ts';
import { mountCurrentBusiness } from './settings/current-business.ts';
import { mountDeveloper } from './settings/developer.ts';
import { mountSignIn } from './sign-in.ts';
import { mountSignOut } from './sign-out.ts';
import { recogniseVisitors } from './visits.ts';

/** Every page of the web host. */
export function mountWeb(host: FastifyInstance, parts: WebParts): void {
  recogniseVisitors(host, parts);
  host.get('/', async (_, reply) => reply.redirect('/settings/connected-apps', 303));
  for (const mount of [
    mountSignIn,
    mountSignOut,
    mountConsent,
    mountConnectedApps,
    mountDeveloper,
    mountAccount,
    mountCurrentBusiness,
    mountPlatformApps,
  ]) {
    mount(host, parts);
  }
}
