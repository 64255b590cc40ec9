import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApi, GatehouseError } from '../../../sdk/typescript/src/index.ts';
import { RESOURCES } from '../../../src/resources/all.ts';
import { connectBusiness } from '../../support/business-api.ts';
import { startTestServer } from '../../support/test-server.ts';
import { BUSINESS, fail, hangUp, send, startFaultyServer } from './faulty-server.ts';

const server = await startTestServer();
const { business, token } = await connectBusiness(server, 'Harbour');
const api = createApi({ baseUrl: server.api, accessToken: token });
const harbour = api.business(business.id);
const LINES = [{ description: 'House blend', quantity: '12', unitPrice: '7.50', taxRate: '20' }];
const { id: customerId } = await harbour.contacts.create({ name: 'Mara' });
const draft = () => harbour.invoices.create({ currency: 'GBP', customerId, lines: LINES });

async function rejected(call: () => Promise<unknown>): Promise<GatehouseError> {
  const error = await call().then(
    () => undefined,
    (reason) => reason,
  );
  assert.ok(error instanceof GatehouseError, String(error));
  return error;
}

test('every declared resource can be listed, and a missing record is not_found', async () => {
  const collections = Object.values(harbour).filter((each) => 'list' in each);
  assert.equal(collections.length, RESOURCES.length);
  for (const records of collections) {
    assert.ok(Array.isArray(await Array.fromAsync<unknown>(records.list({ sort: '-updatedAt' }))));
    assert.equal((await rejected(() => records.get(business.id))).code, 'not_found');
  }
});

test('a record is created, read, updated and archived, and each response has its etag', async () => {
  const company = await harbour.companies.create({ name: 'Northwind', country: 'GB' });
  const created = await harbour.contacts.create({ name: 'Ida', companyId: company.id });
  const changed = await harbour.contacts.update(created.id, { companyId: null }, { ifMatch: created.etag });
  const archived = await harbour.contacts.archive(created.id, { ifMatch: changed.etag });

  assert.deepEqual([created.companyId, changed.companyId, changed.name], [company.id, null, 'Ida']);
  assert.deepEqual(await harbour.contacts.get(created.id), archived);
  assert.equal((await harbour.contacts.restore(created.id)).status, 'ACTIVE');
  const late = await rejected(() => harbour.contacts.update(created.id, { name: 'Eve' }, { ifMatch: created.etag }));
  assert.deepEqual([late.status, late.code, late.reason], [412, 'precondition_failed', 'etag_mismatch']);
});

test('an invoice is sent, paid in parts, and another one voided', async () => {
  const { id } = await draft();
  const sent = await harbour.invoices.send(id);
  const part = await harbour.invoices.pay(id, { amount: '8', method: 'Card' });
  const paid = await harbour.invoices.pay(id);

  assert.deepEqual([sent.status, part.amountDue, paid.status], ['SENT', '100.00', 'PAID']);
  assert.deepEqual(
    paid.payments.map(({ amount, method }) => [amount, method]),
    [
      ['8.00', 'Card'],
      ['100.00', null],
    ],
  );
  assert.equal((await harbour.invoices.void((await draft()).id)).status, 'VOID');
});

test('a deal moves through the pipeline, and the pipeline adds up its stages', async () => {
  const { id } = await harbour.deals.create({ title: 'Machines', amount: '18400', currency: 'GBP' });
  const moved = await harbour.deals.move(id, { stage: 'PROPOSAL' });
  const stages = await harbour.deals.pipeline();
  const lost = await harbour.deals.lose(id, { reason: 'Too dear' });
  const reopened = await harbour.deals.reopen(id);
  const won = await harbour.deals.win(id);

  assert.deepEqual(
    [moved.stage, lost.lostReason, reopened.stage, won.stage],
    ['PROPOSAL', 'Too dear', 'NEGOTIATION', 'WON'],
  );
  assert.deepEqual(
    stages.find(({ stage }) => stage === 'PROPOSAL'),
    { stage: 'PROPOSAL', deals: 1, amounts: [{ currency: 'GBP', amount: '18400.00' }] },
  );
});

test('lists follow their pages, filtered and sorted', async () => {
  const company = await harbour.companies.create({ name: 'Pages' });
  for (const name of ['A', 'B', 'C', 'D', 'E']) {
    server.advanceClock(1);
    await harbour.contacts.create({ name, companyId: company.id });
  }
  const ofCompany = { companyId: company.id, status: 'ACTIVE', sort: 'createdAt', limit: 2 } as const;
  const names = (await Array.fromAsync(harbour.contacts.list(ofCompany))).map(({ name }) => name);
  const first = await harbour.contacts.listPage(ofCompany);
  const second = await harbour.contacts.listPage({ ...ofCompany, cursor: first.nextCursor });

  assert.deepEqual(names, ['A', 'B', 'C', 'D', 'E']);
  assert.deepEqual([...first.items, ...second.items].map(({ name }) => name).join(''), 'ABCD');
  assert.deepEqual(await Array.fromAsync(harbour.contacts.list({ until: '2001-01-01' })), []);
});

test('the reports of a business are read with their period', async () => {
  await harbour.invoices.send((await draft()).id);
  const { from, currencies } = await harbour.reports.profitAndLoss({ from: '2020-01-01', to: '2020-12-31' });
  const balance = await harbour.reports.balance();
  const aged = await harbour.reports.agedReceivables({ asOf: balance.asOf });

  assert.deepEqual([from, currencies], ['2020-01-01', []]);
  assert.match(balance.currencies[0]?.receivables ?? '', /^\d+\.\d\d$/);
  assert.equal(aged.currencies[0]?.total, balance.currencies[0]?.receivables);
});

test('an error names every wrong field, or the state and what it allows', async () => {
  const invalid = await rejected(() => harbour.invoices.create({ currency: 'pounds', customerId, lines: [] }));
  const early = await rejected(async () => harbour.invoices.pay((await draft()).id));

  assert.equal(invalid.reason, 'fields_invalid');
  assert.deepEqual(invalid.errors.map(({ field }) => field).sort(), ['currency', 'lines']);
  assert.deepEqual([invalid.state, invalid.allowed], [undefined, undefined]);
  assert.deepEqual([early.code, early.state, early.allowed, early.errors], ['conflict', 'DRAFT', ['send', 'void'], []]);
});

test('a create whose response was lost is repeated, and makes one record', async () => {
  let attempts = 0;
  const losing: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    attempts += 1;
    if (attempts > 1) return response;
    await response.text();
    throw new TypeError('The connection was lost.');
  };
  const unlucky = createApi({ baseUrl: server.api, accessToken: token, fetch: losing }).business(business.id);
  const company = await harbour.companies.create({ name: 'Once' });
  const { id } = await unlucky.contacts.create({ name: 'Only', companyId: company.id });
  const found = await Array.fromAsync(harbour.contacts.list({ companyId: company.id }));

  assert.equal(attempts, 2);
  assert.deepEqual(
    found.map((contact) => contact.id),
    [id],
  );
});

test('every attempt of a write has the same idempotency key, and every call another', async () => {
  const created = send(201, { id: BUSINESS }, { etag: '"1"' });
  const { api: createFaultyApi, requests } = await startFaultyServer(hangUp, fail(503), created);
  const { contacts } = createFaultyApi().business(BUSINESS);
  await contacts.create({ name: 'Mara' });
  await contacts.create({ name: 'Mara' });
  await contacts.create({ name: 'Mara' }, { idempotencyKey: 'mine' });

  const keys = requests.map(({ headers }) => String(headers['idempotency-key']));
  assert.equal(new Set(keys.slice(0, 3)).size, 1);
  assert.match(keys[0] ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.notEqual(keys[3], keys[0]);
  assert.equal(keys[4], 'mine');
});

test('a response that is not a record is invalid_response', async () => {
  for (const response of [send(200, {}, { etag: '"1"' }), send(200, { id: BUSINESS }), send(200, [])]) {
    const { api: createFaultyApi } = await startFaultyServer(response);
    const error = await rejected(() => createFaultyApi().business(BUSINESS).contacts.get(BUSINESS));
    assert.equal(error.code, 'invalid_response');
  }
});

test('a wrong argument is a TypeError before anything is sent', async () => {
  const { api: createFaultyApi, requests } = await startFaultyServer(fail(500));
  const { contacts, invoices } = createFaultyApi().business(BUSINESS);

  assert.throws(() => createFaultyApi().business('acme'), TypeError);
  assert.throws(() => contacts.list({ limit: 0 }), TypeError);
  await assert.rejects(contacts.get('../companies'), TypeError);
  await assert.rejects(contacts.create({ name: 'Mara' }, { idempotencyKey: 'two words' }), TypeError);
  await assert.rejects(contacts.update(BUSINESS, { name: 'Mara' }, { ifMatch: '' }), TypeError);
  await assert.rejects(invoices.pay(BUSINESS, 'all' as never), TypeError);
  assert.deepEqual(requests, []);
});
