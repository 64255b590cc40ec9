import { Type } from 'typebox';
import { formatAmount, parseAmount } from '../lib/money.ts';
import { AMOUNT_PATTERN, FieldError, LINE, type Values } from './resource.ts';

export const MAX_PAYMENTS = 200;

export const AMOUNT = (description: string) =>
  Type.String({ pattern: AMOUNT_PATTERN, description, examples: ['90.00'] });

export const PAYMENT = Type.Object(
  {
    date: Type.String({ format: 'date', description: 'When it was paid.' }),
    amount: AMOUNT('What was paid.'),
    method: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      maxLength: 80,
      pattern: LINE,
      description: 'The payment method.',
    }),
  },
  { additionalProperties: false },
);

interface Payment {
  date: string;
  amount: string;
  method: string | null;
}

export function amountOf(record: Values, field: string): bigint {
  return parseAmount(String(record[field]), String(record.currency)) ?? 0n;
}

/** What has been paid, and what is due: nothing on a void invoice. */
export function balanceOf(invoice: Values): Values {
  const code = String(invoice.currency);
  const paid = (invoice.payments as Payment[]).reduce((sum, { amount }, index) => {
    const minor = parseAmount(amount, code);
    if (minor === undefined || minor < 0n)
      throw new FieldError(`payments[${index}].amount`, `is not an amount of ${code}`);
    return sum + minor;
  }, 0n);
  const due = invoice.status === 'VOID' ? 0n : amountOf(invoice, 'total') - paid;
  return { amountPaid: formatAmount(paid, code), amountDue: formatAmount(due, code) };
}

export function pay(invoice: Values, body: Values, today: string): Values {
  const code = String(invoice.currency);
  const earlier = invoice.payments as Payment[];
  const due = amountOf(invoice, 'amountDue');
  const sum = body.amount == null ? due : parseAmount(String(body.amount), code);
  if (sum === undefined) throw new FieldError('amount', `has more decimals than ${code} has`);
  if (sum === 0n && due > 0n) throw new FieldError('amount', 'must be above zero');
  if (sum > due) throw new FieldError('amount', `is more than the ${formatAmount(due, code)} that is due`);
  if (earlier.length >= MAX_PAYMENTS) throw new FieldError('amount', `exceeds the limit of ${MAX_PAYMENTS} payments`);
  const method = typeof body.method === 'string' ? body.method : null;
  const payments = [...earlier, { date: String(body.date ?? today), amount: formatAmount(sum, code), method }];
  return { payments, ...balanceOf({ ...invoice, payments }), ...(sum === due && { status: 'PAID' }) };
}

/** The status that an operator sets. Payments stay; an invoice that becomes paid gets one of all that is due. */
export function withStatus(invoice: Values, status: string, today: string): Values {
  const earlier = (invoice.payments ?? []) as Payment[];
  if (earlier.length > 0 && (status === 'DRAFT' || status === 'VOID')) {
    throw new FieldError('status', `cannot be ${status}: a payment has been recorded`);
  }
  const { amountDue } = balanceOf({ ...invoice, status: 'SENT', payments: earlier });
  const isDue = amountOf({ ...invoice, amountDue }, 'amountDue') > 0n;
  if (earlier.length > 0 && !isDue && status !== 'PAID') {
    throw new FieldError('status', `cannot be ${status}: nothing is due`);
  }
  const payment = { date: today, amount: amountDue, method: null };
  const payments = status === 'PAID' && isDue ? [...earlier, payment] : earlier;
  return { ...invoice, status, payments, ...balanceOf({ ...invoice, status, payments }) };
}
