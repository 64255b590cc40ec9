import { Type } from 'typebox';
import { formatAmount } from '../../lib/money.ts';
import type { Row } from '../rows.ts';
import {
  AMOUNT,
  addTo,
  byCurrency,
  CURRENCY,
  DATE,
  EXPENSES,
  earliestDay,
  INVOICES,
  ORDERS,
  type Report,
  readCounted,
  readDay,
  type Sums,
  toMinor,
} from './report.ts';

export const balance: Report = {
  name: 'balance',
  title: 'Balance',
  summary: 'Balance',
  description:
    'What the business has and owes, by currency, from its invoices, orders and expenses until a day, as they are now.',
  query: { asOf: Type.Optional(DATE('The day. Today if left out.')) },
  schema: Type.Object({
    asOf: DATE('The day.'),
    currencies: Type.Array(
      Type.Object({
        currency: CURRENCY,
        received: AMOUNT('Payments of invoices, and paid orders.'),
        reimbursed: AMOUNT('Expenses that have been reimbursed.'),
        receivables: AMOUNT('What customers still have to pay.'),
        payables: AMOUNT('Approved expenses that are not reimbursed yet.'),
        salesTax: AMOUNT('Tax on invoices.'),
        net: AMOUNT('Received and receivable, less reimbursed, payable and tax.'),
      }),
      { description: 'One entry for each currency.' },
    ),
  }),
  example: {
    asOf: '2026-07-31',
    currencies: [
      {
        currency: 'GBP',
        received: '7600.00',
        reimbursed: '900.00',
        receivables: '3200.00',
        payables: '364.20',
        salesTax: '1800.00',
        net: '7735.80',
      },
    ],
  },
  async compute(db, businessId, query, today) {
    const asOf = readDay(query, 'asOf', today);
    const sums: Sums = new Map();
    const period = { businessId, from: earliestDay(asOf), to: asOf };
    for (const { source, add } of COUNTED) {
      for await (const rows of readCounted(db, source, period)) {
        for (const row of rows) add(row, (name, minor) => addTo(sums, String(row.currency), name, minor));
      }
    }
    return { asOf, currencies: byCurrency(sums).map(([currency, found]) => balanceOf(currency, found)) };
  },
};

/** What each record adds to the sums. */
const COUNTED: { source: typeof INVOICES; add(row: Row, add: (name: string, minor: bigint) => void): void }[] = [
  {
    source: INVOICES,
    add({ subtotal, tax, amount_paid: paid }, add) {
      add('received', toMinor(paid));
      add('receivables', toMinor(subtotal) + toMinor(tax) - toMinor(paid));
      add('salesTax', toMinor(tax));
    },
  },
  { source: ORDERS, add: ({ total }, add) => add('received', toMinor(total)) },
  {
    source: EXPENSES,
    add: ({ status, amount }, add) => add(status === 'APPROVED' ? 'payables' : 'reimbursed', toMinor(amount)),
  },
];

function balanceOf(currency: string, found: Record<string, bigint>) {
  const at = (name: string) => found[name] ?? 0n;
  const net = at('received') + at('receivables') - at('reimbursed') - at('payables') - at('salesTax');
  const names = ['received', 'reimbursed', 'receivables', 'payables', 'salesTax'];
  const amounts = names.map((name) => [name, formatAmount(at(name), currency)]);
  return { currency, ...Object.fromEntries(amounts), net: formatAmount(net, currency) };
}
