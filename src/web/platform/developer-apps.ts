import type { FastifyInstance } from 'fastify';
import { listPlatformApps } from '../../apps/apps.ts';
import { mountAppPages } from '../apps/routes.ts';
import type { WebParts } from '../parts.ts';
import { findPlace } from '../place.ts';
import { notFound } from '../refusals.ts';

/** First-party apps. To anyone but a platform admin this page does not exist, signed in or not. */
export function mountPlatformApps(host: FastifyInstance, parts: WebParts): void {
  mountAppPages(host, parts, {
    path: '/platform/developer/apps',
    title: 'Platform apps',
    canOpenToAnyBusiness: false,
    async enter(request) {
      if (!request.visit.session?.user.isPlatformAdmin) throw notFound();
      return {
        at: await findPlace(parts, request),
        ownerBusinessId: null,
        intro: 'First-party apps. They act in the current business of whoever signs in, and ask for no consent.',
        canChange: true,
      };
    },
    list: () => listPlatformApps(parts.storage.durable),
  });
}
