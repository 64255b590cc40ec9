import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Membership } from '../../accounts/memberships.ts';
import { findApp } from '../../apps/apps.ts';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { forbidden, notFound } from '../errors.ts';
import type { PageContext } from '../layout.ts';
import { loadPageContext } from '../page-context.ts';
import { platformTabs } from '../platform/page.ts';
import { mountAppConnections } from './app-connections.ts';
import { mountAppList, mountNewApp } from './app-list.ts';
import { type AppSection, createAppPages } from './app-page.ts';
import { mountAppRequests } from './app-requests.ts';
import { mountAppSecrets } from './app-secrets.ts';
import { mountAppSettings, showSettings } from './app-settings.ts';
import { mountAppStatus } from './app-status.ts';
import { mountPlayground } from './playground/routes.ts';
import { mountWebhooks } from './webhooks/routes.ts';

const PATH = '/settings/developer';

/** The apps of the current business. Every member can view them; owners and admins can change them. */
export function mountDeveloper(host: FastifyInstance, deps: WebDeps): void {
  mountAppPages(host, deps, {
    path: PATH,
    title: 'Developer',
    canOpenToAnyBusiness: true,
    list: access('signed_in'),
    view: access('member'),
    edit: access('admin', (request, context) => findOtherOwner(deps, request, context)),
    async loadViewer(request) {
      const context = await loadPageContext(deps, request);
      if (!context.current && request.url.startsWith(`${PATH}/`)) throw notFound();
      if (!context.current) throw forbidden('You are not a member of any business yet, and apps belong to a business.');
      return {
        context,
        ownerBusinessId: context.current.businessId,
        intro: `The apps of ${context.current.businessName}. An app acts for users, with their consent.`,
        canChange: context.current.role !== 'member',
      };
    },
  });
}

/** The membership in the business that owns the app, if its role may change apps. */
async function findOtherOwner(
  { storage }: WebDeps,
  { params }: FastifyRequest,
  { memberships }: PageContext,
): Promise<Membership[]> {
  const { id } = params as { id?: string };
  const app = id === undefined ? undefined : await findApp(storage.durable, id);
  return memberships.filter(({ businessId, role }) => businessId === app?.ownerBusinessId && role !== 'member');
}

/** First-party apps. */
export function mountPlatformApps(host: FastifyInstance, deps: WebDeps): void {
  mountAppPages(host, deps, {
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
  });
}

function mountAppPages(host: FastifyInstance, deps: WebDeps, section: AppSection): void {
  const pages = createAppPages(deps, section);
  mountAppList(host, pages);
  mountNewApp(host, pages);
  mountAppSettings(host, pages);
  mountAppSecrets(host, pages, (...shown) => showSettings(pages, ...shown));
  mountAppStatus(host, pages);
  mountAppRequests(host, pages);
  mountAppConnections(host, pages);
  mountWebhooks(host, pages);
  mountPlayground(host, pages);
}
