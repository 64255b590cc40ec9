import { Type } from 'typebox';
import { DAY } from '../../lib/clock.ts';
import { formatAmount } from '../../lib/money.ts';
import type { Database } from '../../storage/storage.ts';
import { readBatches } from '../batches.ts';
import { dayOf } from '../records.ts';
import type { Row } from '../rows.ts';
import { AMOUNT, addTo, byCurrency, CURRENCY, DATE, type Report, readDay, type Sums, toMinor } from './report.ts';

/** The last one is for all that is older than the others. */
const BUCKETS = ['current', 'days1To30', 'days31To60', 'days61To90', 'over90'];

export const agedReceivables: Report = {
  name: 'aged-receivables',
  title: 'AgedReceivables',
  summary: 'Aged receivables',
  description:
    'What customers still have to pay of the invoices issued until a day, by currency and by how long it has been due.',
  query: { asOf: Type.Optional(DATE('The day. Today if left out.')) },
  schema: Type.Object({
    asOf: DATE('The day.'),
    currencies: Type.Array(
      Type.Object({
        currency: CURRENCY,
        ...Object.fromEntries(BUCKETS.map((name) => [name, AMOUNT(describeBucket(name))])),
        total: AMOUNT('All of it.'),
      }),
      { description: 'One entry for each currency.' },
    ),
  }),
  example: {
    asOf: '2026-07-31',
    currencies: [
      {
        currency: 'GBP',
        current: '2100.00',
        days1To30: '800.00',
        days31To60: '300.00',
        days61To90: '0.00',
        over90: '0.00',
        total: '3200.00',
      },
    ],
  },
  async compute(db, businessId, query, today) {
    const asOf = readDay(query, 'asOf', today);
    const sums: Sums = new Map();
    const starts = [0, 30, 60, 90].map((days) => dayOf(Date.parse(asOf) - days * DAY));
    for await (const rows of readUnpaid(db, businessId)) {
      for (const { currency, issue_date, due_date, amount_due } of rows) {
        if (String(issue_date) > asOf) continue;
        const index = starts.findIndex((start) => String(due_date) >= start);
        addTo(sums, String(currency), BUCKETS.at(index) ?? '', toMinor(amount_due));
        addTo(sums, String(currency), 'total', toMinor(amount_due));
      }
    }
    const amountsOf = (currency: string, found: Record<string, bigint>) =>
      Object.fromEntries([...BUCKETS, 'total'].map((name) => [name, formatAmount(found[name] ?? 0n, currency)]));
    return {
      asOf,
      currencies: byCurrency(sums).map(([currency, found]) => ({ currency, ...amountsOf(currency, found) })),
    };
  },
};

function describeBucket(name: string): string {
  return name === 'current'
    ? 'Not due yet.'
    : `Due for ${name.replace('days', '').replace('To', ' to ').replace('over', 'over ')} days.`;
}

const UNPAID = ['SENT', 'OVERDUE'];

/** By id, and not by status: an invoice that becomes overdue meanwhile is read once. */
async function* readUnpaid(db: Database, businessId: string): AsyncGenerator<Row[]> {
  const columns = ['status', 'currency', 'issue_date', 'due_date', 'amount_due'];
  for await (const rows of readBatches(db, { table: 'invoices', businessId, columns })) {
    yield rows.filter(({ status }) => UNPAID.includes(String(status)));
  }
}
