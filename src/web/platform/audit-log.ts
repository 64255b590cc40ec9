import type { FastifyInstance } from 'fastify';
import { GROUPS, type Group } from '../../audit/acts.ts';
import { html } from '../../lib/html.ts';
import { describeKeeping, mountAuditSection } from '../audit-log.ts';
import type { WebDeps } from '../deps.ts';
import { loadPageContext } from '../page-context.ts';
import { platformTabs } from './tabs.ts';

/** What was done anywhere. */
export function mountPlatformAuditLog(host: FastifyInstance, parts: WebDeps): void {
  mountAuditSection(host, parts, {
    path: '/platform/audit-log',
    groups: Object.keys(GROUPS) as Group[],
    async enter(request) {
      const at = await loadPageContext(parts, request);
      const head = html`${platformTabs(at)}<h1>Audit log</h1>
<p class="muted">Who did what, in every business and on the platform, the newest first. ${describeKeeping(parts)}</p>`;
      return { at, tenant: undefined, head };
    },
  });
}
