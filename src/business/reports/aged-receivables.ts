import { Type } from 'typebox';
import { DAY } from '../../lib/clock.ts';
import { formatAmount } from '../../lib/money.ts';
import { sumAmounts } from '../../storage/amounts.ts';
import type { Database } from '../../storage/storage.ts';
import { dayOf } from '../records.ts';
import { AMOUNT, addTo, byCurrency, CURRENCY, DATE, type Report, readDay, type Sums } from './report.ts';

const UNPAID = ['SENT', 'OVERDUE'];

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
    const [sums, issued]: [Sums, { businessId: string; asOf: string }] = [new Map(), { businessId, asOf }];
    const since = (days: number) => dayOf(Date.parse(asOf) - days * DAY);
    const bounds = ['9999-12-31', since(1), since(31), since(61), since(91), '0000-01-01'];
    for (const [place, bucket] of BUCKETS.entries()) {
      for (const { currency, due } of await sumDue(db, issued, bounds[place + 1] ?? '', bounds[place] ?? '')) {
        addTo(sums, String(currency), bucket, due);
        addTo(sums, String(currency), 'total', due);
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

/** Unpaid invoices that were due after one day and until another. */
function sumDue(
  db: Database,
  { businessId, asOf }: { businessId: string; asOf: string },
  after: string,
  until: string,
) {
  return db
    .selectFrom('invoices')
    .select(['currency', sumAmounts('amount_due').as('due')])
    .where('business_id', '=', businessId)
    .where('status', 'in', UNPAID)
    .where('issue_date', '<=', asOf)
    .where('due_date', '>', after)
    .where('due_date', '<=', until)
    .groupBy('currency')
    .execute();
}
