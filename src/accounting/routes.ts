import type { FastifyInstance } from 'fastify';
import { findBusiness } from '../accounts/businesses.ts';
import { isId } from '../lib/ids.ts';
import { requireBusiness, requireScope } from '../oauth/bearer.ts';
import { ApiError } from '../oauth/errors.ts';
import { accessOf, type BearerParts, describedBy, openToBrowsers, shareWithAnyOrigin } from '../oauth/routes.ts';
import { listInvoices, STATUSES } from './invoices.ts';
import { businessesOperation, invoicesOperation, NAMED_SCHEMAS } from './operations.ts';
import { type InvoiceQuery, MOST, USUAL } from './schemas.ts';

const BUSINESSES = '/api/v1/businesses';
const INVOICES = '/api/v1/accounting/invoices';

/** The business API: what an access token is for. */
export function mountAccounting(host: FastifyInstance, parts: BearerParts & { issuer: string }): void {
  for (const schema of NAMED_SCHEMAS) host.addSchema(schema);
  const described = (schema: object) => ({ ...describedBy(schema), onRequest: shareWithAnyOrigin });

  // How an app learns the id that every other call has to name.
  host.get(BUSINESSES, described(businessesOperation), async (request, reply) => {
    const access = await accessOf(parts, request, reply);
    const business = await findBusiness(parts.storage.durable, access.businessId);
    return business ? [{ id: business.id, name: business.name }] : [];
  });

  host.get<{ Querystring: Sent }>(INVOICES, described(invoicesOperation), async (request, reply) => {
    const access = await accessOf(parts, request, reply);
    requireScope(access, 'read:invoices');
    const businessId = requireBusiness(access, headerOf(request.headers['x-business-id']));
    const page = readPage(request.query);

    const invoices = await listInvoices(parts.storage.durable, { ...page, businessId, limit: page.limit + 1 });
    const shown = invoices.slice(0, page.limit);
    const last = shown.at(-1);
    if (last && invoices.length > shown.length) reply.header('link', linkToNext(parts.issuer, page, last.id));
    return shown;
  });

  for (const path of [BUSINESSES, INVOICES]) openToBrowsers(host, path);
}

/** What came, under the names that are documented: of any type until it has been looked at. */
type Sent = { [name in keyof InvoiceQuery]?: unknown };

interface Page {
  status: string | undefined;
  after: string | undefined;
  limit: number;
}

/** Empty counts as absent. */
function readPage(query: Sent): Page {
  const [status, limit, cursor] = [textOf(query, 'status'), textOf(query, 'limit'), textOf(query, 'cursor')];
  if (status !== undefined && !STATUSES.includes(status)) throw refuse(`status is one of ${STATUSES.join(', ')}.`);
  if (limit !== undefined && !isLimit(limit)) throw refuse(`limit is 1 to ${MOST}.`);
  if (cursor !== undefined && !isId(cursor)) throw refuse('cursor is as the Link header of the last page gave it.');
  return { status, after: cursor, limit: Number(limit ?? USUAL) };
}

/** A parameter that comes twice arrives as a list. */
function textOf(query: Sent, name: keyof Sent): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string') return value;
  const description = `${name} was sent more than once.`;
  throw new ApiError({ status: 400, code: 'invalid_request', reason: 'field_repeated', description });
}

function isLimit(text: string): boolean {
  return /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= MOST;
}

function refuse(description: string): ApiError {
  return new ApiError({ status: 400, code: 'invalid_request', reason: 'value_not_allowed', description });
}

/** RFC 8288. */
function linkToNext(issuer: string, { status, limit }: Page, cursor: string): string {
  const query = new URLSearchParams({ ...(status && { status }), limit: String(limit), cursor });
  return `<${issuer}${INVOICES}?${query}>; rel="next"`;
}

/** Node joins a repeated header with a comma, which no UUID has. */
function headerOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
