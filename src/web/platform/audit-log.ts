import type { FastifyInstance } from 'fastify';
import { ACTION_GROUPS, type ActionGroup } from '../../audit/entries.ts';
import { html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { describeRetention, mountAuditSection } from '../audit-log.ts';
import type { WebDeps } from '../deps.ts';
import { loadPageContext } from '../page-context.ts';
import { platformTabs } from './page.ts';

/** The audit log of all businesses and of the platform. */
export function mountPlatformAuditLog(host: FastifyInstance, deps: WebDeps): void {
  mountAuditSection(host, deps, {
    path: '/platform/audit-log',
    access: access('platform_admin'),
    groups: Object.keys(ACTION_GROUPS) as ActionGroup[],
    async enter(request) {
      const context = await loadPageContext(deps, request);
      const head = html`${platformTabs(context)}<h1>Audit log</h1>
<p class="muted">Who did what, in every business and on the platform, newest first. ${describeRetention(deps)}</p>`;
      return { context, tenant: undefined, head };
    },
  });
}
