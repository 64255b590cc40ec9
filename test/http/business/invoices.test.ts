import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Business } from '../../../src/accounts/businesses.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const open = await server.addApp({ name: 'Open', ownerBusinessId: server.acme.id, openToAnyBusiness: true });
const credentials = { client_id: open.id, client_secret: open.secret };
let businesses = 0;

/** A new business, so that no test sees the invoices of another. */
async function newBooks() {
  const business = await server.addBusiness(`Business ${++businesses}`);
  const user = await server.addUser(`Person${businesses}`, [[business, 'owner']]);
  const code = await server.allow({ client_id: open.id }, await server.signedIn(user));
  const { access_token: token } = (await server.exchange(code, credentials)).body;
  const list = (query = '') => server.listInvoices(token, { 'x-business-id': business.id }, query);
  return { business, token, list };
}

async function addMany(business: Business, count: number, status: string) {
  for (let i = 1; i <= count; i += 1) {
    server.advanceClock(1);
    await server.addInvoice(business, { number: `${status}-${i}`, status });
  }
}

const numbers = ({ body }: { body: { number: string }[] }) => body.map(({ number }) => number);
const nextOf = ({ headers }: { headers: Headers }) => /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];

test('an invoice has the six fields of the contract first, and then the others of the reference', async () => {
  const { business, list } = await newBooks();
  const { id } = await server.addInvoice(business, { number: 'INV-7', total: '1234.50', customerId: 'contact-9' });

  const { status, body, headers } = await list();

  assert.equal(status, 200);
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  assert.deepEqual(Object.entries(body[0]), [
    ...Object.entries({
      id,
      number: 'INV-7',
      status: 'SENT',
      total: '1234.50',
      currency: 'GBP',
      customerId: 'contact-9',
    }),
    ...Object.entries({ issueDate: '2030-01-01', dueDate: '2030-01-31', subtotal: '1234.50', tax: '0.00' }),
    ...Object.entries({ amountPaid: '0.00', amountDue: '1234.50' }),
    ...Object.entries({ createdAt: '2030-01-01T00:00:00.000Z', updatedAt: '2030-01-01T00:00:00.000Z' }),
  ]);
});

test('a business without invoices has an empty list and no next page', async () => {
  const response = await (await newBooks()).list();

  assert.deepEqual(response.body, []);
  assert.equal(response.headers.get('link'), null);
});

test('a total is exact at any size, with two decimals', async () => {
  const { business, list } = await newBooks();
  const totals = [
    ['0', '0.00'],
    ['0.01', '0.01'],
    ['0.1', '0.10'],
    ['7', '7.00'],
    ['10.05', '10.05'],
    ['90071992547409.93', '90071992547409.93'],
    ['9007199254740993.01', '9007199254740993.01'],
    ['123456789012345678901234567890.99', '123456789012345678901234567890.99'],
  ] as const;
  for (const [i, [total]] of totals.entries()) await server.addInvoice(business, { number: `N${i}`, total });

  const shown = (await list()).body.map(({ total }: { total: string }) => total).reverse();

  assert.deepEqual(
    shown,
    totals.map(([, written]) => written),
  );
});

test('the newest invoice comes first, also among those of one millisecond', async () => {
  const { business, list } = await newBooks();
  for (const number of ['first', 'second']) await server.addInvoice(business, { number });
  server.advanceClock(5);
  await server.addInvoice(business, { number: 'third' });

  assert.deepEqual(numbers(await list()), ['third', 'second', 'first']);
});

test('status filters, by each of the five statuses', async () => {
  const { business, list } = await newBooks();
  for (const status of ['DRAFT', 'SENT', 'PAID', 'OVERDUE', 'VOID']) await addMany(business, 2, status);

  for (const status of ['DRAFT', 'SENT', 'PAID', 'OVERDUE', 'VOID']) {
    assert.deepEqual(numbers(await list(`?status=${status}`)), [`${status}-2`, `${status}-1`]);
  }
});

test('a page has 50 invoices unless limit says otherwise, from 1 to 200', async () => {
  const { business, list } = await newBooks();
  await addMany(business, 201, 'SENT');

  assert.equal((await list()).body.length, 50);
  for (const limit of [1, 50, 199, 200]) assert.equal((await list(`?limit=${limit}`)).body.length, limit);
  assert.equal(numbers(await list('?limit=1'))[0], 'SENT-201');
});

test('following rel="next" reads every invoice once, keeping filter and limit, and then ends', async () => {
  const { business, token, list } = await newBooks();
  await addMany(business, 7, 'PAID');
  await addMany(business, 2, 'SENT');

  const pages: string[][] = [];
  let response = await list('?status=PAID&limit=3');
  for (;;) {
    pages.push(numbers(response));
    const next = nextOf(response);
    if (!next) break;
    assert.ok(next.startsWith(`${server.api}/api/v1/accounting/invoices?`), next);
    response = await server.listInvoices(token, { 'x-business-id': business.id }, new URL(next).search);
  }

  assert.deepEqual(pages, [['PAID-7', 'PAID-6', 'PAID-5'], ['PAID-4', 'PAID-3', 'PAID-2'], ['PAID-1']]);
});

test('a page that ends exactly with the last invoice has no next page', async () => {
  const { business, list } = await newBooks();
  await addMany(business, 4, 'SENT');

  assert.equal(nextOf(await list('?limit=4')), undefined);
  assert.notEqual(nextOf(await list('?limit=3')), undefined);
});

test('an invoice added during paging shifts no page', async () => {
  const { business, token, list } = await newBooks();
  await addMany(business, 4, 'SENT');
  const first = await list('?limit=2');
  await addMany(business, 1, 'PAID');

  const next = nextOf(first) ?? '';
  const second = await server.listInvoices(token, { 'x-business-id': business.id }, new URL(next).search);

  assert.deepEqual(
    [numbers(first), numbers(second)],
    [
      ['SENT-4', 'SENT-3'],
      ['SENT-2', 'SENT-1'],
    ],
  );
});

test('an invalid parameter is a 400 that names it', async () => {
  const { list } = await newBooks();
  for (const [name, query] of [
    ['limit', 'limit=0'],
    ['limit', 'limit=201'],
    ['limit', 'limit=-1'],
    ['limit', 'limit=1.5'],
    ['limit', 'limit=1e2'],
    ['limit', 'limit=ten'],
    ['limit', 'limit=%2050'],
    ['limit', 'limit=5&limit=6'],
    ['status', 'status=sent'],
    ['status', 'status=LOST'],
    ['status', 'status=SENT,PAID'],
    ['status', 'status=SENT&status=SENT'],
    ['cursor', 'cursor=next'],
    ['cursor', "cursor='%20or%201=1"],
    ['cursor', 'cursor=1&cursor=2'],
  ] as const) {
    const { status, body } = await list(`?${query}`);
    assert.deepEqual([status, body.error], [400, 'invalid_request'], query);
    assert.match(body.error_description, new RegExp(`\\b${name}\\b`));
  }
});

test('empty and unknown parameters are ignored', async () => {
  const { business, list } = await newBooks();
  await addMany(business, 1, 'SENT');

  assert.deepEqual(numbers(await list('?limit=&status=&cursor=&sort=&order=asc&__proto__=x')), ['SENT-1']);
});
