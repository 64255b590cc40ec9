import { addInvoice } from '../accounting/invoices.ts';
import { findBusiness } from '../accounts/businesses.ts';
import { systemClock } from '../lib/clock.ts';
import { type Command, required, withStorage } from './command.ts';

export const invoiceCommands: Command[] = [
  {
    name: 'invoice add',
    summary: 'Add an invoice to a business',
    options: {
      business: { value: 'ID', help: 'The business’s id', required: true },
      number: { value: 'NUMBER', help: 'What people call it, like INV-1', required: true },
      total: { value: 'AMOUNT', help: 'A decimal, like 1234.50', required: true },
      currency: { value: 'CODE', help: 'An ISO 4217 code, like GBP', required: true },
      customer: { value: 'ID', help: 'The CRM contact it is for', required: true },
      status: { value: 'STATUS', help: 'DRAFT, SENT, PAID, OVERDUE or VOID (DRAFT if left out)' },
    },
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
];
