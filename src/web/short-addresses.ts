import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Membership } from '../accounts/memberships.ts';
import { findApp } from '../apps/apps.ts';
import { html } from '../lib/html.ts';
import { access } from './access.ts';
import { businessPath } from './business-address.ts';
import type { WebDeps } from './deps.ts';
import { forbidden, notFound } from './errors.ts';
import { sendPage } from './layout.ts';
import { loadPageContext } from './page-context.ts';

/** The pages about a business, by their address without it. Links that know no business, like those of the docs, use these. */
const PAGES: Record<string, string> = {
  'connected-apps': 'connected-apps',
  members: 'members',
  business: 'settings',
  'audit-log': 'audit-log',
  'audit-log.csv': 'audit-log.csv',
  developer: 'developer',
};

/** An address without a business leads to the page of the business that the user chose last. Forms have no such address. */
export function mountShortAddresses(host: FastifyInstance, deps: WebDeps): void {
  for (const [short, page] of Object.entries(PAGES)) {
    const open = async (request: FastifyRequest, reply: FastifyReply) => {
      const business = await findBusiness(deps, request);
      if (!business) return showNoBusiness(deps, short, request, reply);
      const rest = request.url.slice(`/settings/${short}`.length);
      return reply.redirect(businessPath(business, page) + rest, 303);
    };
    host.get(`/settings/${short}`, access('signed_in'), open);
    host.get(`/settings/${short}/*`, access('signed_in'), open);
  }
}

/** An app belongs to one business. */
async function findBusiness(deps: WebDeps, request: FastifyRequest): Promise<Membership | undefined> {
  const { current, memberships } = await loadPageContext(deps, request);
  const [, appId] = /^\/settings\/developer\/([\w-]+)/.exec(request.url) ?? [];
  const app = appId === undefined ? undefined : await findApp(deps.storage.durable, appId);
  return memberships.find(({ businessId }) => businessId === app?.ownerBusinessId) ?? current;
}

const TITLES: Record<string, string> = { 'connected-apps': 'Connected apps', members: 'Members' };

async function showNoBusiness(deps: WebDeps, short: string, request: FastifyRequest, reply: FastifyReply) {
  if (short === 'developer' && !request.url.startsWith('/settings/developer/')) {
    throw forbidden('You are not a member of any business yet, and apps belong to a business.');
  }
  const title = TITLES[short];
  if (title === undefined) throw notFound();
  const context = await loadPageContext(deps, request);
  const body = html`<h1>${title}</h1>
<p class="empty">You are not a member of any business yet. Ask an owner of your business for an invitation link.</p>`;
  return sendPage(reply, { title, platformName: deps.platformName, width: 'wide', context, body });
}
