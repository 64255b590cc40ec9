import { EVENT_GUARDS, type EventType } from '../events/event-types.ts';
import { recordEvent } from '../events/events.ts';
import { listAppsAllowed } from '../grants/status.ts';
import { FormError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { readName } from '../lib/names.ts';
import { preparedQuery } from '../storage/prepared.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { formatAmount, readAmount } from './amounts.ts';

/** As apps see it. */
export interface Invoice {
  id: string;
  number: string;
  status: string;
  total: string;
  currency: string;
  customerId: string;
}

interface NewInvoice extends Omit<Invoice, 'id'> {
  businessId: string;
}

export const STATUSES = ['DRAFT', 'SENT', 'PAID', 'OVERDUE', 'VOID'];

/** Needs a transaction: the invoice and what is said of it are one. */
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
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('invoices')
    .values(row)
    .onConflict((conflict) => conflict.columns(['business_id', 'number']).doNothing())
    .executeTakeFirstOrThrow();
  if (!numInsertedOrUpdatedRows) throw new FormError('number', `The business has an invoice ${row.number} already.`);
  await tellReaders(db, 'invoice.created', row, now);
  return fromRow(row);
}

/** Needs a transaction: the change and what is said of it are one. Undefined if nothing had to be changed. */
export async function setInvoiceStatus(
  db: Database,
  { businessId, number, status }: { businessId: string; number: string; status: string },
  now: number,
): Promise<Invoice | undefined> {
  const row = await db
    .updateTable('invoices')
    .set({ status: readStatus(status) })
    .where('business_id', '=', businessId)
    .where('number', '=', number)
    .where('status', '!=', status)
    .returningAll()
    .executeTakeFirst();
  if (!row) return undefined;
  await tellReaders(db, 'invoice.updated', row, now);
  if (status === 'PAID') await tellReaders(db, 'invoice.paid', row, now);
  return fromRow(row);
}

type InvoiceEventType = Extract<EventType, `invoice.${string}`>;

/** Records the event for every app that may read the invoices of this business. */
async function tellReaders(db: Database, type: InvoiceEventType, row: Row<'invoices'>, now: number): Promise<void> {
  const { id: invoiceId, number, status, total, currency } = fromRow(row);
  const data = { invoiceId, number, status, total, currency };
  const readers = { businessId: row.business_id, scope: EVENT_GUARDS[type].scope };
  for (const appId of await listAppsAllowed(db, readers, now)) {
    await recordEvent(db, { type, appId, businessId: row.business_id, data }, now);
  }
}

/** Newest first: ids grow with time. `after` is the last id of the page before. */
export async function listInvoices(
  db: Database,
  { businessId, status, after, limit }: { businessId: string; status?: string; after?: string; limit: number },
): Promise<Invoice[]> {
  const page = { businessId, after: after ?? BEHIND_ALL, limit };
  const { rows } = status === undefined ? await readPage(db, page) : await readPageOf(db, { ...page, status });
  return rows.map(fromRow);
}

interface PageOfInvoices {
  businessId: string;
  after: string;
  limit: number;
}

/** No id comes after it. */
const BEHIND_ALL = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const readPage = preparedQuery(selectPage);

const readPageOf = preparedQuery((db, page: PageOfInvoices & { status: string }) =>
  selectPage(db, page).where('status', '=', page.status),
);

/** The limit is a sum: SQLite would plan anew each time it is given a value by itself. */
function selectPage(db: Database, { businessId, after, limit }: PageOfInvoices) {
  return db
    .selectFrom('invoices')
    .select(['id', 'number', 'status', 'total', 'currency', 'customer_id'])
    .where('business_id', '=', businessId)
    .where('id', '<', after)
    .orderBy('id', 'desc')
    .limit((eb) => eb(eb.val(limit), '+', eb.lit(0)));
}

function readStatus(status: string): string {
  if (!STATUSES.includes(status)) throw new FormError('status', `A status is one of ${STATUSES.join(', ')}.`);
  return status;
}

function readCurrency(currency: string): string {
  if (!/^[A-Z]{3}$/.test(currency)) throw new FormError('currency', 'A currency is an ISO 4217 code, like GBP.');
  return currency;
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
