import { Type } from 'typebox';
import { valueNotAllowed } from '../../http/paging.ts';
import { formatAmount } from '../../lib/money.ts';
import {
  AMOUNT,
  addTo,
  byCurrency,
  CURRENCY,
  DATE,
  EXPENSES,
  INVOICES,
  monthsOf,
  ORDERS,
  type Report,
  readCounted,
  readDay,
  type Sums,
  toMinor,
} from './report.ts';

export const profitAndLoss: Report = {
  name: 'profit-and-loss',
  title: 'ProfitAndLoss',
  summary: 'Profit and loss',
  description:
    'Income and expenses of a period, by currency and month: invoices by their issue date without tax, paid orders, and approved expenses.',
  query: {
    from: Type.Optional(DATE('The first day. The first of January of this year if left out.')),
    to: Type.Optional(DATE('The last day. Today if left out.')),
  },
  schema: Type.Object({
    from: DATE('The first day.'),
    to: DATE('The last day.'),
    currencies: Type.Array(
      Type.Object({
        currency: CURRENCY,
        invoices: AMOUNT('Invoices, without tax.'),
        orders: AMOUNT('Paid orders.'),
        income: AMOUNT('Invoices and orders.'),
        expenses: AMOUNT('Approved expenses.'),
        profit: AMOUNT('Income less expenses. Negative for a loss.'),
        months: Type.Array(
          Type.Object({
            month: Type.String({ description: 'The year and month.', examples: ['2026-07'] }),
            income: AMOUNT('In this month.'),
            expenses: AMOUNT('In this month.'),
            profit: AMOUNT('In this month.'),
          }),
          { description: 'The months of the period.' },
        ),
      }),
      { description: 'One entry for each currency.' },
    ),
  }),
  example: {
    from: '2026-07-01',
    to: '2026-07-31',
    currencies: [
      {
        currency: 'GBP',
        invoices: '9000.00',
        orders: '480.00',
        income: '9480.00',
        expenses: '1264.20',
        profit: '8215.80',
        months: [{ month: '2026-07', income: '9480.00', expenses: '1264.20', profit: '8215.80' }],
      },
    ],
  },
  async compute(db, businessId, query, today) {
    const to = readDay(query, 'to', today);
    const from = readDay(query, 'from', `${to.slice(0, 4)}-01-01`);
    if (from > to) throw valueNotAllowed('from must not be after to.');
    const sums: Sums = new Map();
    const months = monthsOf(from, to);
    for (const { name, source, amount } of COUNTED) {
      for await (const rows of readCounted(db, source, { businessId, from, to })) {
        for (const row of rows) {
          const [currency, minor] = [String(row.currency), toMinor(row[amount])];
          addTo(sums, currency, name, minor);
          addTo(sums, currency, `${name} ${String(row[source.day]).slice(0, 7)}`, minor);
        }
      }
    }
    return { from, to, currencies: byCurrency(sums).map(([currency, found]) => profitOf(currency, found, months)) };
  },
};

const COUNTED = [
  { name: 'invoices', source: INVOICES, amount: 'subtotal' },
  { name: 'orders', source: ORDERS, amount: 'total' },
  { name: 'expenses', source: EXPENSES, amount: 'amount' },
];

function profitOf(currency: string, found: Record<string, bigint>, months: string[]) {
  const at = (name: string) => found[name] ?? 0n;
  const format = (minor: bigint) => formatAmount(minor, currency);
  const income = at('invoices') + at('orders');
  return {
    currency,
    invoices: format(at('invoices')),
    orders: format(at('orders')),
    income: format(income),
    expenses: format(at('expenses')),
    profit: format(income - at('expenses')),
    months: months.map((month) => {
      const [earned, spent] = [at(`invoices ${month}`) + at(`orders ${month}`), at(`expenses ${month}`)];
      return { month, income: format(earned), expenses: format(spent), profit: format(earned - spent) };
    }),
  };
}
