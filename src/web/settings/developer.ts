import type { FastifyInstance } from 'fastify';
import { mountAppPages } from '../apps/routes.ts';
import type { WebDeps } from '../deps.ts';
import { loadPageContext } from '../page-context.ts';
import { forbidden, notFound } from '../errors.ts';

const PATH = '/settings/developer';

/** The current business's own apps. Every member may look; owners and admins may change. */
export function mountDeveloper(host: FastifyInstance, parts: WebDeps): void {
  mountAppPages(host, parts, {
    path: PATH,
    title: 'Developer',
    canOpenToAnyBusiness: true,
    async enter(request) {
      const at = await loadPageContext(parts, request);
      if (!at.current && request.url.startsWith(`${PATH}/`)) throw notFound();
      if (!at.current) throw forbidden('You are not a member of any business yet, and apps belong to a business.');
      return {
        at,
        ownerBusinessId: at.current.businessId,
        intro: `The apps of ${at.current.businessName}. An app acts for users, with their consent.`,
        canChange: at.current.role !== 'member',
      };
    },
  });
}
