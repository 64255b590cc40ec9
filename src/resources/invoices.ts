import { Type } from 'typebox';
import { formatAmount, multiply, parseAmount } from '../lib/money.ts';
import { AMOUNT, amountOf, balanceOf, MAX_PAYMENTS, PAYMENT, pay } from './payments.ts';
import {
  amount,
  choice,
  currency,
  date,
  FieldError,
  list,
  notes,
  type Resource,
  text,
  type Values,
} from './resource.ts';

export const INVOICE_STATUSES = ['DRAFT', 'SENT', 'PAID', 'OVERDUE', 'VOID'];
const UNPAID = ['SENT', 'OVERDUE'];

/** Days until an invoice is due, if the client sends no due date. */
const PAYMENT_TERM = 30;

const LINE_INPUT = {
  description: Type.String({
    description: 'What is sold.',
    minLength: 1,
    maxLength: 500,
    pattern: '^[^\\u0000-\\u001f\\u007f]*$',
    examples: ['House blend, 1 kg'],
  }),
  quantity: Type.String({ pattern: '^\\d{1,9}(\\.\\d{1,4})?$', description: 'A decimal.', examples: ['12'] }),
  unitPrice: Type.String({
    pattern: '^-?\\d{1,20}(\\.\\d{1,4})?$',
    description: 'Without tax. Negative for a discount.',
    examples: ['7.50'],
  }),
  taxRate: Type.Optional(
    Type.String({ pattern: '^\\d{1,2}(\\.\\d{1,3})?$', description: 'In per cent. 0 if left out.', examples: ['20'] }),
  ),
};
const LINE = Type.Object({
  ...LINE_INPUT,
  taxRate: Type.String({ pattern: '^\\d{1,2}(\\.\\d{1,3})?$', description: 'In per cent.', examples: ['20'] }),
  amount: AMOUNT('Quantity times unit price, rounded to the currency.'),
  tax: AMOUNT('The tax on the amount, rounded to the currency.'),
});

interface Line {
  description: string;
  quantity: string;
  unitPrice: string;
  taxRate?: string;
}

export const invoices: Resource = {
  name: 'invoice',
  plural: 'invoices',
  title: 'Invoice',
  description: 'What a customer owes the business.',
  path: '/api/v1/accounting/invoices',
  table: 'invoices',
  scopes: { read: 'read:invoices', write: 'write:invoices' },
  fields: {
    number: text('The invoice number. The next number of the business if left out.', {
      max: 80,
      nullable: false,
      example: 'INV-2001',
    }),
    status: choice(INVOICE_STATUSES, 'The status of the invoice.', { computed: true, initial: 'DRAFT' }),
    total: amount('What the customer pays, with tax: exact at any size.', { computed: true }),
    currency: currency(),
    customerId: {
      ...text('A CRM contact.', {
        required: true,
        input: Type.String({ format: 'uuid', description: 'A CRM contact.' }),
        example: 'contact-1',
      }),
      references: 'contact',
    },
    issueDate: date('The date on the invoice. Today if left out.', { nullable: false }),
    dueDate: date(`When it is to be paid. ${PAYMENT_TERM} days after \`issueDate\` if left out.`, { nullable: false }),
    subtotal: amount('The sum of the lines, without tax.', { computed: true }),
    tax: amount('The sum of the taxes of the lines.', { computed: true }),
    amountPaid: amount('The sum of the payments.', { computed: true }),
    amountDue: amount('What is still to be paid.', { computed: true }),
    lines: list(LINE, 'What is invoiced.', {
      required: true,
      input: Type.Array(Type.Object(LINE_INPUT, { additionalProperties: false }), {
        minItems: 1,
        maxItems: 200,
        description: 'What is invoiced.',
      }),
    }),
    payments: list(PAYMENT, 'What has been paid.', { max: MAX_PAYMENTS, computed: true, initial: [] }),
    notes: notes('Printed below the lines.'),
  },
  filters: ['status', 'customerId'],
  sorts: ['dueDate'],
  unique: 'number',
  numbered: 'INV-',
  state: { field: 'status', editableIn: ['DRAFT'], events: { SENT: 'sent', PAID: 'paid', VOID: 'voided' } },
  transitions: {
    send: {
      summary: 'Send an invoice',
      description: 'Makes a draft final. It cannot be updated afterwards.',
      from: ['DRAFT'],
      isDestructive: true,
      change: () => ({ status: 'SENT' }),
    },
    pay: {
      summary: 'Record a payment',
      description: 'Records a payment. The invoice is `PAID` once nothing is due.',
      from: UNPAID,
      body: {
        amount: amount('What was paid. All that is due if left out.', { example: '108.00' }),
        date: date('When it was paid. Today if left out.'),
        method: text('The payment method.', { max: 80, example: 'Bank transfer' }),
      },
      change: pay,
    },
    void: {
      summary: 'Void an invoice',
      description: 'Cancels an invoice that is not paid. It keeps its number.',
      from: ['DRAFT', ...UNPAID],
      isDestructive: true,
      change(invoice) {
        if (amountOf(invoice, 'amountPaid') > 0n)
          throw new FieldError('status', 'cannot be VOID: a payment has been recorded');
        return { status: 'VOID', ...balanceOf({ ...invoice, status: 'VOID' }) };
      },
    },
  },
  compute,
  eventFields: ['number', 'status', 'total', 'currency'],
  example: {
    number: 'INV-2001',
    status: 'SENT',
    total: '108.00',
    currency: 'GBP',
    customerId: '0190b9a1-8d5e-7f6a-9b7c-8d9e0f1a2b3c',
    issueDate: '2026-07-01',
    dueDate: '2026-07-31',
    subtotal: '90.00',
    tax: '18.00',
    amountPaid: '0.00',
    amountDue: '108.00',
    lines: [
      {
        description: 'House blend, 1 kg',
        quantity: '12',
        unitPrice: '7.50',
        taxRate: '20',
        amount: '90.00',
        tax: '18.00',
      },
    ],
    payments: [],
    notes: 'Thank you for your order.',
  },
};

/** Line amounts and taxes are rounded one by one, so that the lines add up to the totals. */
function compute(invoice: Values, today: string): Values {
  const issueDate = String(invoice.issueDate ?? today);
  const dueDate = String(invoice.dueDate ?? addDays(issueDate, PAYMENT_TERM));
  if (dueDate < issueDate) throw new FieldError('dueDate', 'is before issueDate');
  const code = String(invoice.currency);
  const { lines, subtotal, tax } = computeLines(invoice.lines as Line[], code);
  const total = subtotal + tax;
  if (total < 0n) throw new FieldError('lines', 'add up to less than zero');
  const computed = { ...invoice, lines, issueDate, dueDate, total: formatAmount(total, code) };
  return {
    lines,
    issueDate,
    dueDate,
    subtotal: formatAmount(subtotal, code),
    tax: formatAmount(tax, code),
    total: computed.total,
    ...balanceOf(computed),
  };
}

function computeLines(lines: Line[], code: string) {
  let [subtotal, tax] = [0n, 0n];
  const computed = lines.map((line, index) => {
    const price = parseAmount(line.unitPrice, code);
    if (price === undefined) throw new FieldError(`lines[${index}].unitPrice`, `has more decimals than ${code} has`);
    const { taxRate = '0' } = line;
    const lineAmount = multiply(price, line.quantity);
    const lineTax = multiply(lineAmount, taxRate, 100n);
    subtotal += lineAmount;
    tax += lineTax;
    return { ...line, taxRate, amount: formatAmount(lineAmount, code), tax: formatAmount(lineTax, code) };
  });
  return { lines: computed, subtotal, tax };
}

function addDays(day: string, days: number): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}
