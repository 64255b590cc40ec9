import { findBusiness } from '../accounts/businesses.ts';
import { addInvoice, setInvoiceStatus } from '../business/invoices.ts';
import { systemClock } from '../lib/clock.ts';
import { isId } from '../lib/ids.ts';
import { INVOICE_STATUSES } from '../resources/invoices.ts';
import { type Command, required, withStorage } from './command.ts';

export const invoiceCommands: Command[] = [
  {
    name: 'invoice add',
    summary: 'Add an invoice to a business',
    options: {
      business: { value: 'ID', help: 'The business’s id', required: true },
      number: { value: 'NUMBER', help: 'The invoice number, such as INV-1', required: true },
      total: { value: 'AMOUNT', help: 'A decimal, such as 1234.50', required: true },
      currency: { value: 'CODE', help: 'An ISO 4217 code, such as GBP', required: true },
      customer: { value: 'ID', help: 'The id of the CRM contact', required: true },
      status: {
        value: 'STATUS',
        help: 'DRAFT, SENT, PAID, OVERDUE or VOID (default: DRAFT)',
        choices: INVOICE_STATUSES,
      },
    },
    examples: ['--status SENT'],
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const business = required(await findBusiness(durable, options.text('business')), 'business', 'business');
        const invoice = {
          businessId: business.id,
          number: options.text('number'),
          total: options.text('total'),
          currency: options.text('currency'),
          customerId: options.text('customer'),
          status: options.text('status') || 'DRAFT',
        };
        return addInvoice(durable, invoice, systemClock());
      }),
  },
  {
    name: 'invoice set-status',
    summary: 'Change the status of an invoice, and notify the apps that may read it',
    options: {
      business: { value: 'ID', help: 'The business’s id', required: true },
      number: { value: 'NUMBER', help: 'The invoice number, such as INV-1', required: true },
      status: {
        value: 'STATUS',
        help: 'DRAFT, SENT, PAID, OVERDUE or VOID',
        required: true,
        choices: INVOICE_STATUSES,
      },
    },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const [businessId, number] = [options.text('business'), options.text('number')];
        const change = { businessId, number, status: options.text('status') };
        const changed = isId(businessId) && (await setInvoiceStatus(durable, change, systemClock()));
        return required(changed || undefined, 'number', 'invoice, or it has this status already');
      }),
  },
];
