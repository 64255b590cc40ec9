import { optionalCount, optionalText, requireObject, requireUuid } from './arguments.ts';
import type { Invoice, InvoiceStatus } from './invoices.ts';
import { fieldsOf, type Request } from './requests.ts';
import { type CallOptions, optionalSignal } from './signals.ts';

/** Invoices, and the cursor of the next page. */
export interface InvoicePage {
  /** The newest first. */
  invoices: Invoice[];
  /** The `cursor` of the next page; undefined on the last one. */
  nextCursor: string | undefined;
}

/** Which page of invoices. */
export interface InvoicePageOptions extends CallOptions {
  status?: InvoiceStatus | undefined;
  /** 1 to 200; 50 if left out. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/** Which invoices to iterate over. */
export interface InvoicesOptions extends CallOptions {
  status?: InvoiceStatus | undefined;
  /** How many are read at a time: 1 to 200; 50 if left out. */
  pageSize?: number | undefined;
}

const PATH = '/api/v1/accounting/invoices';

export function askForPage(businessId: string, options: InvoicePageOptions): Request {
  const given = requireObject(options, 'The second argument of invoicePage');
  const headers = { 'x-business-id': requireUuid(businessId, 'businessId') };
  const query = new URLSearchParams();
  const wanted = {
    status: optionalText(given.status, 'status'),
    limit: optionalCount(given.limit, 'limit'),
    cursor: optionalText(given.cursor, 'cursor'),
  };
  for (const [name, value] of Object.entries(wanted)) if (value !== undefined) query.set(name, String(value));
  return { path: `${PATH}?${query}`, headers, signal: optionalSignal(given.signal) };
}

export function isInvoice(value: unknown): value is Invoice {
  const { id, number, status, total, currency, customerId } = fieldsOf(value);
  return [id, number, status, total, currency, customerId].every((field) => typeof field === 'string');
}
