import type { FastifyInstance } from 'fastify';
import { html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { describeRetention, mountAuditSection } from '../audit-log.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { loadPageContext } from '../page-context.ts';

/** The audit log of the current business, for its owners. */
export function mountAuditLog(host: FastifyInstance, deps: WebDeps): void {
  mountAuditSection(host, deps, {
    path: '/settings/audit-log',
    access: access('owner'),
    groups: ['app', 'secret', 'endpoint', 'grant', 'member', 'business'],
    async enter(request) {
      const context = await loadPageContext(deps, request);
      if (context.current?.role !== 'owner') throw notFound();
      const head = html`<h1>Audit log</h1>
<p class="muted">Who did what in ${context.current.businessName}, newest first. ${describeRetention(deps)}</p>`;
      const tenant = { businessId: context.current.businessId, platformName: deps.platformName };
      return { context, tenant, head };
    },
  });
}
