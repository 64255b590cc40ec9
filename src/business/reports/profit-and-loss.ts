import { Type } from 'typebox';
import { valueNotAllowed } from '../../http/paging.ts';
import { formatAmount } from '../../lib/money.ts';
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
    if (from > to) throw valueNotAllowed('from is not after to.');
    const sums: Sums = new Map();
    const months = monthsOf(from, to);
    for (const { month, ...days } of months) {
      const period = { businessId, ...days };
      const add = (currency: unknown, name: string, minor: string) => {
        addTo(sums, String(currency), name, minor);
        addTo(sums, String(currency), `${name} ${month}`, minor);
      };
      for (const { currency, subtotal } of await sumInvoices(db, period)) add(currency, 'invoices', subtotal);
      for (const { currency, total } of await sumOrders(db, period)) add(currency, 'orders', total);
      for (const { currency, amount } of await sumExpenses(db, period, COUNTED_EXPENSES))
        add(currency, 'expenses', amount);
    }
    return { from, to, currencies: byCurrency(sums).map(([currency, found]) => profitOf(currency, found, months)) };
  },
};

function profitOf(currency: string, found: Record<string, bigint>, months: { month: string }[]) {
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
    months: months.map(({ month }) => {
      const [earned, spent] = [at(`invoices ${month}`) + at(`orders ${month}`), at(`expenses ${month}`)];
      return { month, income: format(earned), expenses: format(spent), profit: format(earned - spent) };
    }),
  };
}
