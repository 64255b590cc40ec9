import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRecord } from '../../../src/business/records.ts';
import { findResource } from '../../../src/resources/all.ts';
import { connectBusiness } from '../../support/business-api.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const api = await connectBusiness(server, 'Reporting');
const REPORTS = '/api/v1/accounting/reports';
const { body: contact } = await api.send('POST', '/api/v1/crm/contacts', { name: 'Mara' });

const add = (resource: string, input: Record<string, unknown>) =>
  server
    .storage()
    .transaction((tx) =>
      createRecord(tx, findResource(resource), { businessId: api.business.id, input }, server.clock()),
    );

async function invoice(issueDate: string, unitPrice: string, dueDate: string, currency = 'GBP') {
  const lines = [{ description: 'Beans', quantity: '1', unitPrice, taxRate: '20' }];
  const draft = { currency, customerId: contact.id, lines, issueDate, dueDate };
  const { body } = await api.send('POST', '/api/v1/accounting/invoices', draft);
  return `/api/v1/accounting/invoices/${body.id}`;
}

/** Draft and void invoices do not count. */
const HUGE = '9007199254740993.01';
await invoice('2029-11-01', '1000', '2029-12-01');
const voided = await invoice('2029-11-01', '1000', '2029-12-01');
await api.send('POST', `${voided}/void`);
const paid = await invoice('2029-11-10', '100', '2029-12-10');
await api.send('POST', `${paid}/send`);
await api.send('POST', `${paid}/pay`);
for (const due of ['2030-01-01', '2029-12-31', '2029-11-15', '2029-09-01']) {
  await api.send('POST', `${await invoice('2029-08-01', '10', due)}/send`);
}
await api.send('POST', `${await invoice('2029-12-01', HUGE, '2029-12-31', 'EUR')}/send`);
await add('expense', {
  description: 'Train',
  amount: '30',
  currency: 'GBP',
  spentOn: '2029-11-20',
  status: 'APPROVED',
});
await add('expense', {
  description: 'Taxi',
  amount: '5',
  currency: 'GBP',
  spentOn: '2029-12-02',
  status: 'REIMBURSED',
});
await add('expense', {
  description: 'Yacht',
  amount: '9999',
  currency: 'GBP',
  spentOn: '2029-12-02',
  status: 'REJECTED',
});
const items = [{ sku: 'A', description: 'Beans', quantity: '2', unitPrice: '4.50' }];
await add('order', { currency: 'GBP', orderedOn: '2029-12-24', items, status: 'PAID' });
await add('order', { currency: 'GBP', orderedOn: '2029-12-24', items });

test('profit and loss adds up by currency and month, exactly', async () => {
  const { body } = await api.get(`${REPORTS}/profit-and-loss?from=2029-11-01&to=2029-12-31`);

  assert.deepEqual(body.currencies, [
    {
      currency: 'EUR',
      invoices: HUGE,
      orders: '0.00',
      income: HUGE,
      expenses: '0.00',
      profit: HUGE,
      months: [
        { month: '2029-11', income: '0.00', expenses: '0.00', profit: '0.00' },
        { month: '2029-12', income: HUGE, expenses: '0.00', profit: HUGE },
      ],
    },
    {
      currency: 'GBP',
      invoices: '100.00',
      orders: '9.00',
      income: '109.00',
      expenses: '35.00',
      profit: '74.00',
      months: [
        { month: '2029-11', income: '100.00', expenses: '30.00', profit: '70.00' },
        { month: '2029-12', income: '9.00', expenses: '5.00', profit: '4.00' },
      ],
    },
  ]);
});

test('the balance has the received, the receivable and the payable amounts', async () => {
  const { body } = await api.get(`${REPORTS}/balance?asOf=2029-12-31`);

  assert.deepEqual(body.currencies[1], {
    currency: 'GBP',
    received: '129.00',
    reimbursed: '5.00',
    receivables: '48.00',
    payables: '30.00',
    salesTax: '28.00',
    net: '114.00',
  });
});

test('receivables are aged by how long they have been due', async () => {
  const { body } = await api.get(`${REPORTS}/aged-receivables?asOf=2030-01-01`);

  assert.deepEqual(body.currencies[1], {
    currency: 'GBP',
    current: '12.00',
    days1To30: '12.00',
    days31To60: '12.00',
    days61To90: '0.00',
    over90: '12.00',
    total: '48.00',
  });
});

test('a wrong period is rejected with a sentence', async () => {
  for (const query of ['from=2030-01-02&to=2030-01-01', 'from=yesterday', 'from=1900-01-01', 'to=2030-02-30']) {
    const { status, body } = await api.get(`${REPORTS}/profit-and-loss?${query}`);
    assert.deepEqual([status, body.reason], [400, 'value_not_allowed'], query);
  }
});

test('a year that no record is of is rejected with a sentence', async () => {
  for (const query of [
    'profit-and-loss?from=0050-01-01&to=0050-03-31',
    'profit-and-loss?from=3000-01-01&to=3000-01-31',
    'balance?asOf=0001-01-01',
    'aged-receivables?asOf=9999-12-31',
  ]) {
    const { status, body } = await api.get(`${REPORTS}/${query}`);
    assert.deepEqual([status, body.reason], [400, 'value_not_allowed'], query);
    assert.match(body.error_description, /must be a date from 1900 to 2999/, query);
  }
});

test('the pipeline has every stage, with its deals and what they are worth', async () => {
  for (const amount of ['100', '0.05']) {
    await api.send('POST', '/api/v1/crm/deals', { title: 'Deal', amount, currency: 'GBP' });
  }

  const { body } = await api.get('/api/v1/crm/pipeline');

  assert.deepEqual(body[0], { stage: 'LEAD', deals: 2, amounts: [{ currency: 'GBP', amount: '100.05' }] });
  assert.deepEqual(body.at(-1), { stage: 'LOST', deals: 0, amounts: [] });
});
