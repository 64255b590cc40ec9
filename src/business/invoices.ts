import { type Static, Type } from 'typebox';
import { EVENTS, type EventType, INVOICE_STATUSES as STATUSES } from '../events/event-types.ts';
import { recordEvent } from '../events/events.ts';
import { listAppsWithScope } from '../grants/status.ts';
import { LIMIT_PARAMETER, type RawQuery, readLimit, readText, valueNotAllowed } from '../http/paging.ts';
import { FormError } from '../lib/errors.ts';
import { isId, newId } from '../lib/ids.ts';
import { readName } from '../lib/names.ts';
import { oneOf, oneOfOpen } from '../oauth/schemas.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import type { ProtectedEndpoint } from './protected-endpoint.ts';

const INVOICE = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The invoice.' }),
    number: Type.String({ description: 'What people call it.', examples: ['INV-2001'] }),
    status: oneOfOpen(STATUSES, 'How far the invoice has come.'),
    total: Type.String({
      pattern: '^\\d+\\.\\d{2}$',
      description: 'The amount, exact at any size, with two decimals.',
      examples: ['1234.50'],
    }),
    currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217.', examples: ['GBP'] }),
    customerId: Type.String({ description: 'A CRM contact.', examples: ['contact-1'] }),
  },
  { description: 'One invoice of the business.' },
);
type Invoice = Static<typeof INVOICE>;

const QUERY = Type.Object({
  status: Type.Optional(oneOf(STATUSES, 'Only invoices that have come this far.')),
  limit: LIMIT_PARAMETER,
  cursor: Type.Optional(
    Type.String({ format: 'uuid', description: 'Where the next page starts: from the `Link` header of this one.' }),
  ),
});

export const invoicesEndpoint: ProtectedEndpoint = {
  method: 'GET',
  path: '/api/v1/accounting/invoices',
  scope: 'read:invoices',
  operationId: 'listInvoices',
  summary: 'List invoices',
  description: 'The invoices of one business, newest first, a page at a time.',
  query: QUERY,
  response: {
    description: 'A page of invoices.',
    name: 'Invoice',
    schema: INVOICE,
    isList: true,
    headers: {
      link: Type.String({
        description: 'If there is more: the next page, as `<…>; rel="next"` (RFC 8288).',
        examples: ['<https://api.example.com/api/v1/accounting/invoices?limit=50&cursor=…>; rel="next"'],
      }),
    },
    example: [
      {
        id: '0190b9a2-1c3d-7e4f-8a5b-6c7d8e9f0a1b',
        number: 'INV-2001',
        status: 'SENT',
        total: '1234.50',
        currency: 'GBP',
        customerId: 'contact-1',
      },
    ],
  },
  async handle(db, { businessId }, query) {
    const { limit, ...filter } = readPage(query);
    const invoices = await listInvoices(db, { ...filter, businessId, limit: limit + 1 });
    const body = invoices.slice(0, limit);
    const hasMore = invoices.length > limit;
    const next = { status: filter.status, limit: String(limit), cursor: body.at(-1)?.id };
    return { body, next: hasMore ? next : undefined };
  },
};

/** An empty parameter counts as absent. */
function readPage(query: RawQuery<Static<typeof QUERY>>) {
  const [status, sent, after] = [readText(query, 'status'), readText(query, 'limit'), readText(query, 'cursor')];
  if (status !== undefined && !STATUSES.includes(status))
    throw valueNotAllowed(`status is one of ${STATUSES.join(', ')}.`);
  const limit = readLimit(sent);
  if (after !== undefined && !isId(after))
    throw valueNotAllowed('cursor is as the Link header of the last page gave it.');
  return { status, after, limit };
}

/** Newest first: ids grow with time. `after` is the last id of the page before. */
export async function listInvoices(
  db: Database,
  { businessId, status, after, limit }: { businessId: string; status?: string; after?: string; limit: number },
): Promise<Invoice[]> {
  const page = { businessId, after: after ?? LAST_ID, limit };
  const { rows } = status === undefined ? await queryPage(db, page) : await queryPageOf(db, { ...page, status });
  return rows.map(fromRow);
}

interface Page {
  businessId: string;
  after: string;
  limit: number;
}

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const queryPage = preparedQuery(selectPage);

const queryPageOf = preparedQuery((db, page: Page & { status: string }) =>
  selectPage(db, page).where('status', '=', page.status),
);

/** The limit is an expression: SQLite would plan a bare parameter again for each value. */
function selectPage(db: Database, { businessId, after, limit }: Page) {
  return db
    .selectFrom('invoices')
    .select(['id', 'number', 'status', 'total', 'currency', 'customer_id'])
    .where('business_id', '=', businessId)
    .where('id', '<', after)
    .orderBy('id', 'desc')
    .limit((eb) => eb(eb.val(limit), '+', eb.lit(0)));
}

interface NewInvoice extends Omit<Invoice, 'id'> {
  businessId: string;
}

export async function addInvoice(db: Database, invoice: NewInvoice, now: number): Promise<Invoice> {
  const row = {
    id: newId(now),
    business_id: invoice.businessId,
    number: readName('number', invoice.number),
    status: readStatus(invoice.status),
    total: readAmount(invoice.total),
    currency: readCurrency(invoice.currency),
    customer_id: readName('customer', invoice.customerId),
    created_at: now,
  };
  return inTransaction(db, async (tx) => {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('invoices')
      .values(row)
      .onConflict((conflict) => conflict.columns(['business_id', 'number']).doNothing())
      .executeTakeFirstOrThrow();
    if (!numInsertedOrUpdatedRows) throw new FormError('number', `The business has an invoice ${row.number} already.`);
    await recordInvoiceEvent(tx, 'invoice.created', row, now);
    return fromRow(row);
  });
}

/** Undefined if there is no such invoice or it has this status already. */
export function setInvoiceStatus(
  db: Database,
  { businessId, number, status }: { businessId: string; number: string; status: string },
  now: number,
): Promise<Invoice | undefined> {
  return inTransaction(db, async (tx) => {
    const row = await tx
      .updateTable('invoices')
      .set({ status: readStatus(status) })
      .where('business_id', '=', businessId)
      .where('number', '=', number)
      .where('status', '!=', status)
      .returningAll()
      .executeTakeFirst();
    if (!row) return undefined;
    await recordInvoiceEvent(tx, 'invoice.updated', row, now);
    if (status === 'PAID') await recordInvoiceEvent(tx, 'invoice.paid', row, now);
    return fromRow(row);
  });
}

type InvoiceEventType = Extract<EventType, `invoice.${string}`>;

/** Records the event for every app that may read the invoices of this business. */
async function recordInvoiceEvent(db: Database, type: InvoiceEventType, row: Row<'invoices'>, now: number) {
  const { id: invoiceId, number, status, total, currency } = fromRow(row);
  const data = { invoiceId, number, status, total, currency };
  const { business_id: businessId } = row;
  for (const appId of await listAppsWithScope(db, { businessId, scope: EVENTS[type].guard.scope }, now)) {
    await recordEvent(db, { type, appId, businessId, data }, now);
  }
}

function readStatus(status: string): string {
  if (!STATUSES.includes(status)) throw new FormError('status', `A status is one of ${STATUSES.join(', ')}.`);
  return status;
}

function readCurrency(currency: string): string {
  if (!/^[A-Z]{3}$/.test(currency)) throw new FormError('currency', 'A currency is an ISO 4217 code, like GBP.');
  return currency;
}

const AMOUNT = /^(\d{1,30})(?:\.(\d{1,2}))?$/;

/** Decimal text to hundredths, in digits. Digits are never converted to a number, so amounts of any size are exact. */
export function readAmount(text: string): string {
  const [, whole, fraction = ''] = AMOUNT.exec(text.trim()) ?? [];
  if (whole === undefined) throw new FormError('total', 'A total is a decimal with at most two places, like 1234.50.');
  return BigInt(whole + fraction.padEnd(2, '0')).toString();
}

export function formatAmount(hundredths: string): string {
  const digits = hundredths.padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function fromRow(row: Omit<Row<'invoices'>, 'business_id' | 'created_at'>): Invoice {
  return {
    id: row.id,
    number: row.number,
    status: row.status,
    total: formatAmount(row.total),
    currency: row.currency,
    customerId: row.customer_id,
  };
}
