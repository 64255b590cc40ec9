import type { FastifyInstance } from 'fastify';
import { mountAppPages } from '../apps/routes.ts';
import type { AppSection } from '../apps/section.ts';
import type { WebParts } from '../parts.ts';
import { findPlace } from '../place.ts';
import { platformTabs } from './tabs.ts';

/** First-party apps. */
export function mountPlatformApps(host: FastifyInstance, parts: WebParts): void {
  mountAppPages(host, parts, platformSection(parts));
}

function platformSection(parts: WebParts): AppSection {
  return {
    path: '/platform/developer/apps',
    title: 'First-party apps',
    above: platformTabs,
    canOpenToAnyBusiness: false,
    async enter(request) {
      return {
        at: await findPlace(parts, request),
        ownerBusinessId: null,
        intro: 'First-party apps. They act in the current business of whoever signs in, and ask for no consent.',
        canChange: true,
      };
    },
  };
}
