import type { FastifyInstance } from 'fastify';
import { access } from '../access.ts';
import { businessPath, businessRoute } from '../business-address.ts';
import type { WebDeps } from '../deps.ts';
import { loadPageContext } from '../page-context.ts';
import { platformTabs } from '../platform/page.ts';
import { loadMembersContext } from '../settings/members.ts';
import { mountAppConnections } from './app-connections.ts';
import { mountAppIdentity } from './app-identity.ts';
import { mountAppList, mountNewApp } from './app-list.ts';
import { type AppSection, createAppPages } from './app-page.ts';
import { mountAppRequest } from './app-request.ts';
import { mountAppRequests } from './app-requests.ts';
import { mountAppSecrets } from './app-secrets.ts';
import { mountAppSettings, showSettings } from './app-settings.ts';
import { mountAppStatus } from './app-status.ts';
import { mountPlayground } from './playground/routes.ts';
import { mountWebhooks } from './webhooks/routes.ts';

/** The apps of a business. Every member can view them; owners and admins can change them. */
export function mountDeveloper(host: FastifyInstance, deps: WebDeps): void {
  mountAppPages(host, deps, {
    route: businessRoute('developer'),
    title: 'Developer',
    canOpenToAnyBusiness: true,
    view: access('member'),
    edit: access('admin'),
    async loadViewer(request) {
      const context = await loadMembersContext(deps, request);
      const { business } = context;
      return {
        context,
        path: businessPath(business, 'developer'),
        ownerBusinessId: business.businessId,
        intro: `The apps of ${business.businessName}. An app acts for users, with their consent.`,
        canChange: business.role !== 'member',
      };
    },
  });
}

const FIRST_PARTY = '/platform/developer/apps';

/** First-party apps. */
export function mountPlatformApps(host: FastifyInstance, deps: WebDeps): void {
  mountAppPages(host, deps, {
    route: FIRST_PARTY,
    title: 'First-party apps',
    tabs: platformTabs,
    canOpenToAnyBusiness: false,
    view: access('platform_admin'),
    edit: access('platform_admin'),
    async loadViewer(request) {
      return {
        context: await loadPageContext(deps, request),
        path: FIRST_PARTY,
        ownerBusinessId: null,
        intro: 'They act in the current business of the signed-in user, without asking for consent.',
        canChange: true,
      };
    },
  });
}

function mountAppPages(host: FastifyInstance, deps: WebDeps, section: AppSection): void {
  const pages = createAppPages(deps, section);
  mountAppList(host, pages);
  mountNewApp(host, pages);
  mountAppSettings(host, pages);
  mountAppIdentity(host, pages);
  mountAppSecrets(host, pages, (...shown) => showSettings(pages, ...shown));
  mountAppStatus(host, pages);
  mountAppRequests(host, pages);
  mountAppRequest(host, pages);
  mountAppConnections(host, pages);
  mountWebhooks(host, pages);
  mountPlayground(host, pages);
}
