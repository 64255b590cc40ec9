import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { exportActs } from '../audit/act-export.ts';
import { listActs } from '../audit/act-log.ts';
import type { Group } from '../audit/acts.ts';
import { type Html, html } from '../lib/html.ts';
import { isId } from '../lib/ids.ts';
import { auditBody } from './audit-table.ts';
import { type Form, text } from './fields.ts';
import { type Place, sendPage } from './layout.ts';
import { cutPage, PAGE_SIZE, readListing } from './listing.ts';
import type { WebParts } from './parts.ts';

/** A log of what was done: in one business, or anywhere. The pages are the same in both. */
interface AuditSection {
  path: string;
  /** The kinds of acts that can be in it. */
  groups: readonly Group[];
  /** Lets in whoever may look, and throws for anyone else. */
  enter(request: FastifyRequest): Promise<AuditEntry>;
}

interface AuditEntry {
  at: Place;
  /** Undefined for all of them. */
  businessId: string | undefined;
  head: Html;
}

export function mountAuditSection(host: FastifyInstance, parts: WebParts, section: AuditSection): void {
  const db = parts.storage.durable;

  host.get(section.path, async (request, reply) => {
    const { at, businessId, head } = await section.enter(request);
    const asked = readAsked(request.query as Form, section);
    const { after: before } = asked;
    const { shown, next } = cutPage(await listActs(db, { ...asked, businessId, before, limit: PAGE_SIZE + 1 }));
    const view = { ...asked, path: section.path, groups: section.groups, namesBusiness: businessId === undefined };
    const body = html`${head}${auditBody(view, shown, next)}`;
    return sendPage(reply, { title: 'Audit log', platformName: parts.platformName, width: 'wide', at, body });
  });

  host.get(`${section.path}.csv`, async (request, reply) => {
    const { businessId } = await section.enter(request);
    const { after: before, ...asked } = readAsked(request.query as Form, section);
    return sendCsv(reply, exportActs(db, { ...asked, businessId, before }), parts.clock());
  });
}

function readAsked(query: Form, { groups }: AuditSection) {
  const [kind, by] = [text(query, 'kind'), text(query, 'by')];
  return {
    ...readListing(query),
    group: groups.find((group) => group === kind),
    actorId: isId(by) ? by : undefined,
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
