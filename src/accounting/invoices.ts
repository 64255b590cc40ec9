import { FormError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { readName } from '../lib/names.ts';
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

export interface NewInvoice extends Omit<Invoice, 'id'> {
  businessId: string;
}

export const STATUSES = ['DRAFT', 'SENT', 'PAID', 'OVERDUE', 'VOID'];

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
  return fromRow(row);
}

/** Newest first: ids grow with time. `after` is the last id of the page before. */
export async function listInvoices(
  db: Database,
  { businessId, status, after, limit }: { businessId: string; status?: string; after?: string; limit: number },
): Promise<Invoice[]> {
  let query = db
    .selectFrom('invoices')
    .selectAll()
    .where('business_id', '=', businessId)
    .orderBy('id', 'desc')
    .limit(limit);
  if (status !== undefined) query = query.where('status', '=', status);
  if (after !== undefined) query = query.where('id', '<', after);
  return (await query.execute()).map(fromRow);
}

function readStatus(status: string): string {
  if (!STATUSES.includes(status)) throw new FormError('status', `A status is one of ${STATUSES.join(', ')}.`);
  return status;
}

function readCurrency(currency: string): string {
  if (!/^[A-Z]{3}$/.test(currency)) throw new FormError('currency', 'A currency is an ISO 4217 code, like GBP.');
  return currency;
}

function fromRow(row: Row<'invoices'>): Invoice {
  return {
    id: row.id,
    number: row.number,
    status: row.status,
    total: formatAmount(row.total),
    currency: row.currency,
    customerId: row.customer_id,
  };
}
