import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFill } from '../../../bench/measure/many-records.ts';
import { connectBusiness } from '../../support/business-api.ts';
import { startTestServer } from '../../support/test-server.ts';

const COUNT = 30_000;
const server = await startTestServer();
const api = await connectBusiness(server, 'Large');
const engine = server.settings.databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgres';
const fill = createFill(server.storage().durable, engine);
for (const table of ['invoices', 'deals'] as const) {
  for (let first = 1; first < COUNT; first += 2000) {
    await fill(table, { businessId: api.business.id, count: 2000, first, prefix: 20 });
  }
}

const TOTAL = '29997.00';
const QUERIES: [path: string, read: (body: never) => string][] = [
  [
    '/api/v1/accounting/reports/profit-and-loss?from=2026-01-01&to=2026-12-31',
    (body: { currencies: { income: string }[] }) => String(body.currencies[0]?.income),
  ],
  [
    '/api/v1/accounting/reports/balance?asOf=2026-12-31',
    (body: { currencies: { net: string }[] }) => String(body.currencies[0]?.net),
  ],
  [
    '/api/v1/accounting/reports/aged-receivables?asOf=2026-12-31',
    (body: { currencies: { total: string }[] }) => String(body.currencies[0]?.total),
  ],
  ['/api/v1/crm/pipeline', (body: { amounts: { amount: string }[] }[]) => String(body[0]?.amounts[0]?.amount)],
];

for (const [path, read] of QUERIES) {
  test(`while ${path} reads many records, other requests complete`, async () => {
    let isDone = false;
    const report = api.get(path).finally(() => {
      isDone = true;
    });
    let completed = 0;
    for (; !isDone; completed++) await api.get('/api/v1/me');

    const { status, body } = await report;
    assert.equal(status, 200);
    assert.equal(read(body as never), TOTAL);
    // The first one may have ended before the report began, and the last one after it.
    assert.ok(completed >= 3, `${completed} requests`);
  });
}
