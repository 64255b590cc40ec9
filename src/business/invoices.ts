import { FormError } from '../lib/errors.ts';
import { formatAmount, isCurrency, parseAmount } from '../lib/money.ts';
import { readName } from '../lib/names.ts';
import { INVOICE_STATUSES, invoices } from '../resources/invoices.ts';
import { withStatus } from '../resources/payments.ts';
import { FieldError, type Values } from '../resources/resource.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { changeRecord, dayOf, insertRecord } from './records.ts';

/** An invoice as an operator adds it: a total instead of lines, and any customer. */
interface NewInvoice {
  businessId: string;
  number: string;
  status: string;
  total: string;
  currency: string;
  customerId: string;
}

/** The fields that the command line shows, and that the contract lists first. */
interface Invoice {
  id: string;
  number: string;
  status: string;
  total: string;
  currency: string;
  customerId: string;
}

export async function addInvoice(db: Database, invoice: NewInvoice, now: number): Promise<Invoice> {
  const number = readName('number', invoice.number);
  const currency = readCurrency(invoice.currency);
  const total = readTotal(invoice.total, currency);
  const lines = [{ description: number, quantity: '1', unitPrice: total }];
  const customerId = readName('customer', invoice.customerId);
  const { status, payments } = withStatus({ total, currency }, readStatus(invoice.status), dayOf(now));
  const values = { number, currency, customerId, lines, status, payments };
  const record = await inTransaction(db, (tx) =>
    insertRecord(tx, invoices, { businessId: invoice.businessId, values }, now),
  );
  if (!record) throw new FormError('number', `The business has an invoice ${number} already.`);
  return summaryOf(record.values);
}

/** Undefined if there is no such invoice or it has this status already. */
export function setInvoiceStatus(
  db: Database,
  { businessId, number, status }: { businessId: string; number: string; status: string },
  now: number,
): Promise<Invoice | undefined> {
  readStatus(status);
  return inTransaction(db, async (tx) => {
    const found = await tx
      .selectFrom('invoices')
      .select('id')
      .where('business_id', '=', businessId)
      .where('number', '=', number)
      .where('status', '!=', status)
      .executeTakeFirst();
    if (!found) return undefined;
    const change = (values: Values) => withFormErrors(() => withStatus(values, status, dayOf(now)));
    const changed = await changeRecord(
      tx,
      invoices,
      { businessId, id: found.id },
      { ifVersion: undefined, change },
      now,
    );
    return changed && summaryOf(changed.values);
  });
}

function summaryOf({ id, number, status, total, currency, customerId }: Values): Invoice {
  return { id, number, status, total, currency, customerId } as Invoice;
}

function readStatus(status: string): string {
  if (INVOICE_STATUSES.includes(status)) return status;
  throw new FormError('status', `A status must be one of ${INVOICE_STATUSES.join(', ')}.`);
}

function readCurrency(currency: string): string {
  if (!isCurrency(currency)) throw new FormError('currency', 'A currency must be an ISO 4217 code, like GBP.');
  return currency;
}

function readTotal(text: string, currency: string): string {
  const minor = parseAmount(text.trim(), currency);
  if (minor !== undefined && minor >= 0n) return formatAmount(minor, currency);
  throw new FormError(
    'total',
    `A total must be a decimal with no more decimal places than ${currency} has, like 1234.50.`,
  );
}

/** Converts a `FieldError` to the `FormError` that the command line shows. */
function withFormErrors<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof FieldError ? new FormError(error.field, `The ${error.field} ${error.message}.`) : error;
  }
}
