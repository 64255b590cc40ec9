import type { FastifyInstance } from 'fastify';
import { access } from '../access.ts';
import type { AppSection } from '../apps/app-page.ts';
import { mountAppPages } from '../apps/routes.ts';
import type { WebDeps } from '../deps.ts';
import { loadPageContext } from '../page-context.ts';
import { platformTabs } from './page.ts';

/** First-party apps. */
export function mountPlatformApps(host: FastifyInstance, deps: WebDeps): void {
  mountAppPages(host, deps, platformSection(deps));
}

function platformSection(deps: WebDeps): AppSection {
  return {
    path: '/platform/developer/apps',
    title: 'First-party apps',
    above: platformTabs,
    canOpenToAnyBusiness: false,
    list: access('platform_admin'),
    view: access('platform_admin'),
    edit: access('platform_admin'),
    async loadViewer(request) {
      return {
        context: await loadPageContext(deps, request),
        ownerBusinessId: null,
        intro: 'First-party apps. They act in the current business of the signed-in user, without asking for consent.',
        canChange: true,
      };
    },
  };
}
