import type { FastifyInstance } from 'fastify';
import { mountAppPages } from '../apps/routes.ts';
import type { WebDeps } from '../deps.ts';
import { forbidden, notFound } from '../errors.ts';
import { loadPageContext } from '../page-context.ts';

const PATH = '/settings/developer';

/** The current business's own apps. Every member may look; owners and admins may change. */
export function mountDeveloper(host: FastifyInstance, deps: WebDeps): void {
  mountAppPages(host, deps, {
    path: PATH,
    title: 'Developer',
    canOpenToAnyBusiness: true,
    async enter(request) {
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
