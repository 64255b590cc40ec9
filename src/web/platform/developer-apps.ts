import type { FastifyInstance } from 'fastify';
import { listPlatformApps } from '../../apps/apps.ts';
import { mountAppPages } from '../apps/routes.ts';
import type { AppSection } from '../apps/section.ts';
import type { WebParts } from '../parts.ts';
import { findPlace } from '../place.ts';
import { notFound } from '../refusals.ts';

/** First-party apps. To anyone but a platform admin these pages do not exist, signed in or not, however they are asked. */
export function mountPlatformApps(host: FastifyInstance, parts: WebParts): void {
  host.register(async (scope) => {
    scope.addHook('onRequest', async (request) => {
      if (!request.visit.session?.user.isPlatformAdmin) throw notFound();
    });
    mountAppPages(scope, parts, platformSection(parts));
  });
}

function platformSection(parts: WebParts): AppSection {
  return {
    path: '/platform/developer/apps',
    title: 'Platform apps',
    canOpenToAnyBusiness: false,
    async enter(request) {
      return {
        at: await findPlace(parts, request),
        ownerBusinessId: null,
        intro: 'First-party apps. They act in the current business of whoever signs in, and ask for no consent.',
        canChange: true,
      };
    },
    list: () => listPlatformApps(parts.storage.durable),
  };
}
