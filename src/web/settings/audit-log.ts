import type { FastifyInstance } from 'fastify';
import { html } from '../../lib/html.ts';
import { describeKeeping, mountAuditSection } from '../audit-log.ts';
import type { WebDeps } from '../deps.ts';
import { loadPageContext } from '../page-context.ts';
import { notFound } from '../errors.ts';

/** What was done in the current business, for its owners. To anyone else there is no such page. */
export function mountAuditLog(host: FastifyInstance, parts: WebDeps): void {
  mountAuditSection(host, parts, {
    path: '/settings/audit-log',
    groups: ['app', 'secret', 'endpoint', 'grant', 'member', 'business'],
    async enter(request) {
      const at = await loadPageContext(parts, request);
      if (at.current?.role !== 'owner') throw notFound();
      const head = html`<h1>Audit log</h1>
<p class="muted">Who did what in ${at.current.businessName}, the newest first. ${describeKeeping(parts)}</p>`;
      const tenant = { businessId: at.current.businessId, platformName: parts.platformName };
      return { at, tenant, head };
    },
  });
}
