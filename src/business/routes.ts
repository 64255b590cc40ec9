import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findBusiness } from '../accounts/businesses.ts';
import { linkToNext, notAllowed, readLimit, type Sent, textOf } from '../http/paging.ts';
import { isId } from '../lib/ids.ts';
import { requireBusiness, requireScope } from '../oauth/bearer.ts';
import { accessOf, type BearerParts, describedBy, openToBrowsers, shareWithAnyOrigin } from '../oauth/routes.ts';
import { listInvoices, STATUSES } from './invoices.ts';
import { describeAccess } from './me.ts';
import { businessesOperation, invoicesOperation, meOperation, NAMED_SCHEMAS } from './operations.ts';
import type { InvoiceQuery } from './schemas.ts';

const ME = '/api/v1/me';
const BUSINESSES = '/api/v1/businesses';
const INVOICES = '/api/v1/accounting/invoices';

/** The business API: what an access token is for. */
export function mountAccounting(host: FastifyInstance, parts: BearerParts & { issuer: string }): void {
  for (const schema of NAMED_SCHEMAS) host.addSchema(schema);
  const described = (schema: object) => ({ ...describedBy(schema), onRequest: shareWithPages });

  host.get(ME, described(meOperation), async (request, reply) =>
    describeAccess(parts.storage.durable, await accessOf(parts, request, reply)),
  );

  // How an app learns the id that every other call has to name.
  host.get(BUSINESSES, described(businessesOperation), async (request, reply) => {
    const access = await accessOf(parts, request, reply);
    const business = await findBusiness(parts.storage.durable, access.businessId);
    return business ? [{ id: business.id, name: business.name }] : [];
  });

  host.get<{ Querystring: Sent<InvoiceQuery> }>(INVOICES, described(invoicesOperation), async (request, reply) => {
    const access = await accessOf(parts, request, reply);
    requireScope(access, 'read:invoices');
    request.requestContext.scope = 'read:invoices';
    const businessId = requireBusiness(access, headerOf(request.headers['x-business-id']));
    const page = readPage(request.query);

    const invoices = await listInvoices(parts.storage.durable, { ...page, businessId, limit: page.limit + 1 });
    const shown = invoices.slice(0, page.limit);
    const last = shown.at(-1);
    if (last && invoices.length > shown.length) {
      const query = { status: page.status, limit: String(page.limit), cursor: last.id };
      reply.header('link', linkToNext(parts.issuer + INVOICES, query));
    }
    return shown;
  });

  for (const path of [ME, BUSINESSES, INVOICES]) openToBrowsers(host, path);
}

/** Only browsers send `Origin`, and read these headers. What is said here no cache keeps, so it need not vary by it. */
function shareWithPages(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  if (request.headers.origin === undefined) done();
  else shareWithAnyOrigin(request, reply, done);
}

interface Page {
  status: string | undefined;
  after: string | undefined;
  limit: number;
}

/** Empty counts as absent. */
function readPage(query: Sent<InvoiceQuery>): Page {
  const [status, sent, cursor] = [textOf(query, 'status'), textOf(query, 'limit'), textOf(query, 'cursor')];
  if (status !== undefined && !STATUSES.includes(status)) throw notAllowed(`status is one of ${STATUSES.join(', ')}.`);
  const limit = readLimit(sent);
  if (cursor !== undefined && !isId(cursor)) throw notAllowed('cursor is as the Link header of the last page gave it.');
  return { status, after: cursor, limit };
}

/** Node joins a repeated header with a comma, which no UUID has. */
function headerOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
