import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Membership } from '../../accounts/memberships.ts';
import { findApp } from '../../apps/apps.ts';
import { access } from '../access.ts';
import { mountAppPages } from '../apps/routes.ts';
import type { WebDeps } from '../deps.ts';
import { forbidden, notFound } from '../errors.ts';
import type { PageContext } from '../layout.ts';
import { loadPageContext } from '../page-context.ts';

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
