import { parseAmount } from '../../lib/money.ts';
import { invoices } from '../../resources/invoices.ts';
import { FieldError, type Values } from '../../resources/resource.ts';

/** A total in place of lines makes one line. */
export function linesFromTotal(invoice: Values, total: unknown): Values {
  if (invoice.lines !== undefined || total === undefined) return invoice;
  const amount = parseAmount(String(total), String(invoice.currency));
  if (amount === undefined || amount < 0n) throw new FieldError('total', 'must be an amount, for example 1234.50');
  const lines = [{ description: String(invoice.number ?? 'Total'), quantity: '1', unitPrice: String(total) }];
  return { ...invoice, lines };
}

/** A paid invoice without payments was paid in full when it was due. Payments have to fit the status. */
export function settleInvoice(invoice: Values, today: string): Values {
  const isPaid = invoice.status === 'PAID';
  const given = (invoice.payments ?? []) as object[];
  const { total, dueDate } = compute({ ...invoice, payments: given }, today);
  const date = String(dueDate) < today ? dueDate : today;
  const payments = isPaid && given.length === 0 ? [{ date, amount: total, method: null }] : given;
  checkPayments({ ...invoice, payments }, today);
  return { ...invoice, payments };
}

function checkPayments(invoice: Values, today: string): void {
  const { status = 'DRAFT', payments } = invoice;
  if ((payments as object[]).length === 0) return;
  if (status === 'DRAFT' || status === 'VOID')
    throw new FieldError('payments', `do not fit an invoice that is ${status}`);
  const due = parseAmount(String(compute(invoice, today).amountDue), String(invoice.currency)) ?? 0n;
  if (due < 0n) throw new FieldError('payments', 'add up to more than the total');
  if (due > 0n && status === 'PAID') throw new FieldError('payments', 'add up to less than the total');
  if (due === 0n && status !== 'PAID') throw new FieldError('status', 'must be PAID: nothing is due');
}

function compute(invoice: Values, today: string): Values {
  return invoices.compute?.(invoice, today) ?? {};
}
