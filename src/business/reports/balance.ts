import { Type } from 'typebox';
import { formatAmount } from '../../lib/money.ts';
import type { Database } from '../../storage/storage.ts';
import {
  AMOUNT,
  addTo,
  byCurrency,
  COUNTED_EXPENSES,
  CURRENCY,
  DATE,
  monthsOf,
  type Report,
  readDay,
  type Sums,
  sumExpenses,
  sumInvoices,
  sumOrders,
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
    for (const { month: _, ...days } of monthsOf(await firstDay(db, businessId, asOf), asOf)) {
      const period = { businessId, ...days };
      for (const { currency, subtotal, tax, paid } of await sumInvoices(db, period)) {
        addTo(sums, String(currency), 'received', paid);
        addTo(sums, String(currency), 'receivables', BigInt(subtotal) + BigInt(tax) - BigInt(paid));
        addTo(sums, String(currency), 'salesTax', tax);
      }
      for (const { currency, total } of await sumOrders(db, period)) addTo(sums, String(currency), 'received', total);
      for (const { currency, status, amount } of await sumExpenses(db, period, COUNTED_EXPENSES)) {
        addTo(sums, String(currency), status === 'APPROVED' ? 'payables' : 'reimbursed', amount);
      }
    }
    return { asOf, currencies: byCurrency(sums).map(([currency, found]) => balanceOf(currency, found)) };
  },
};

/** Where the data begins, or nine years ago if that is later. */
async function firstDay(db: Database, businessId: string, asOf: string): Promise<string> {
  const earliest = async (table: 'invoices' | 'orders' | 'expenses', column: string) => {
    const query = db.selectFrom(table).select(column).where('business_id', '=', businessId).orderBy(column).limit(1);
    return String((await query.executeTakeFirst())?.[column] ?? asOf);
  };
  const days = await Promise.all([
    earliest('invoices', 'issue_date'),
    earliest('orders', 'ordered_on'),
    earliest('expenses', 'spent_on'),
  ]);
  const limit = `${Number(asOf.slice(0, 4)) - 9}${asOf.slice(4, 7)}-01`;
  const first = [...days, asOf].sort()[0] ?? asOf;
  return first < limit ? limit : first;
}

function balanceOf(currency: string, found: Record<string, bigint>) {
  const at = (name: string) => found[name] ?? 0n;
  const net = at('received') + at('receivables') - at('reimbursed') - at('payables') - at('salesTax');
  const names = ['received', 'reimbursed', 'receivables', 'payables', 'salesTax'];
  const amounts = names.map((name) => [name, formatAmount(at(name), currency)]);
  return { currency, ...Object.fromEntries(amounts), net: formatAmount(net, currency) };
}
