import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { exportActs } from '../audit/act-export.ts';
import type { Tenant } from '../audit/act-log.ts';
import { searchActs } from '../audit/act-search.ts';
import type { Group } from '../audit/acts.ts';
import { DAY } from '../lib/clock.ts';
import { type Html, html } from '../lib/html.ts';
import { isId } from '../lib/ids.ts';
import { readPeriod, startOf } from './audit-period.ts';
import { auditBody } from './audit-table.ts';
import { type Form, text } from './fields.ts';
import { type PageContext, sendPage } from './layout.ts';
import { cutPage, PAGE_SIZE, readListing } from './listing.ts';
import type { WebDeps } from './parts.ts';

/** A log of what was done: in one business, or anywhere. The pages are the same in both. */
interface AuditSection {
  path: string;
  /** The kinds of acts that can be in it. */
  groups: readonly Group[];
  /** Lets in whoever may look, and throws for anyone else. */
  enter(request: FastifyRequest): Promise<AuditEntry>;
}

interface AuditEntry {
  at: PageContext;
  /** The business whose log it is; undefined for the log of everything. */
  tenant: Tenant | undefined;
  head: Html;
}

export function mountAuditSection(host: FastifyInstance, parts: WebDeps, section: AuditSection): void {
  const db = parts.storage.durable;

  host.get(section.path, async (request, reply) => {
    const { at, tenant, head } = await section.enter(request);
    const asked = readAsked(request.query as Form, section);
    const since = startOf(asked.period, parts.clock());
    const wanted = { ...asked, tenant, since, before: asked.after, limit: PAGE_SIZE + 1 };
    const { acts, searchedTo } = await searchActs(db, wanted);
    const { shown, next } = cutPage(acts);
    const view = { ...asked, path: section.path, groups: section.groups, namesBusiness: tenant === undefined };
    const body = html`${head}${auditBody(view, { acts: shown, next, searchedTo })}`;
    return sendPage(reply, { title: 'Audit log', platformName: parts.platformName, width: 'wide', at, body });
  });

  host.get(`${section.path}.csv`, async (request, reply) => {
    const { tenant } = await section.enter(request);
    const { after: before, period, ...asked } = readAsked(request.query as Form, section);
    const now = parts.clock();
    return sendCsv(reply, exportActs(db, { ...asked, tenant, since: startOf(period, now), before }), now);
  });
}

/** What a reader can rely on. */
export function describeKeeping({ auditRetention }: WebDeps): string {
  if (auditRetention === undefined) return 'Nothing in it can be changed or removed.';
  return `Nothing in it can be changed, and entries are removed only after ${auditRetention / DAY} days.`;
}

function readAsked(query: Form, { groups }: AuditSection) {
  const [kind, by, period] = [text(query, 'kind'), text(query, 'by'), text(query, 'period')];
  return {
    ...readListing(query),
    group: groups.find((group) => group === kind),
    actorId: isId(by) ? by : undefined,
    period: readPeriod(period),
  };
}

function sendCsv(reply: FastifyReply, lines: AsyncIterable<string>, now: number): FastifyReply {
  const day = new Date(now).toISOString().slice(0, 10);
  return reply
    .header('content-disposition', `attachment; filename="audit-log-${day}.csv"`)
    .header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    .header('referrer-policy', 'same-origin')
    .header('cross-origin-resource-policy', 'same-origin')
    .header('cache-control', 'no-store')
    .type('text/csv; charset=utf-8')
    .send(Readable.from(lines));
}
