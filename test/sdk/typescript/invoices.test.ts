import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApi, GatehouseError, type Invoice } from '../../../sdk/typescript/src/index.ts';
import { startTestServer } from '../../support/test-server.ts';
import { connect, passThrough, recordFetch } from './connected.ts';
import { BUSINESS, send, startFaultyServer } from './faulty-server.ts';

const server = await startTestServer();
for (let i = 1; i <= 120; i += 1) {
  server.advanceClock(1);
  await server.addInvoice(server.acme, { number: `INV-${i}`, status: i % 4 === 0 ? 'PAID' : 'SENT' });
}
const { accessToken } = await connect(server);

function newApi() {
  const { requests, fetch } = recordFetch(passThrough);
  return { requests, api: createApi({ baseUrl: server.api, accessToken, fetch }) };
}

const newestFirst = Array.from({ length: 120 }, (_, i) => `INV-${120 - i}`);
const numbers = (invoices: Invoice[]) => invoices.map(({ number }) => number);

test('pages follow one another by their cursors, and the last has none', async () => {
  const { api, requests } = newApi();
  const first = await api.invoicePage(server.acme.id);
  const second = await api.invoicePage(server.acme.id, { cursor: first.nextCursor });
  const third = await api.invoicePage(server.acme.id, { cursor: second.nextCursor, limit: 200 });

  assert.deepEqual(
    [first, second, third].map(({ invoices }) => invoices.length),
    [50, 50, 20],
  );
  assert.deepEqual(numbers([first, second, third].flatMap(({ invoices }) => invoices)), newestFirst);
  assert.equal(third.nextCursor, undefined);
  assert.equal(requests.length, 3);
});

test('the iterator reads every invoice once, across pages of any size', async () => {
  for (const [pageSize, expected] of [
    [undefined, 3],
    [7, 18],
    [60, 2],
    [120, 1],
    [200, 1],
  ] as const) {
    const { api, requests } = newApi();
    const read = await Array.fromAsync(api.invoices(server.acme.id, { pageSize }));
    assert.deepEqual(numbers(read), newestFirst);
    assert.equal(requests.length, expected);
  }
});

test('the iterator reads a page only when it is needed', async () => {
  const { api, requests } = newApi();
  const invoices = api.invoices(server.acme.id, { pageSize: 10 });
  assert.equal(requests.length, 0);

  let seen = 0;
  for await (const _ of invoices) {
    seen += 1;
    if (seen === 11) break;
  }

  assert.equal(requests.length, 2);
});

test('a status filters pages and iterator alike', async () => {
  const { api } = newApi();
  const page = await api.invoicePage(server.acme.id, { status: 'PAID', limit: 12 });
  const all = await Array.fromAsync(api.invoices(server.acme.id, { status: 'PAID', pageSize: 12 }));

  assert.equal(page.invoices.length, 12);
  assert.equal(all.length, 30);
  assert.ok(all.every(({ status }) => status === 'PAID'));
});

test('a rejected request is an error with its code and status', async () => {
  const { api } = newApi();
  const rejections = [
    [() => api.invoicePage(BUSINESS), 403, 'business_mismatch'],
    // @ts-expect-error: a misspelled status does not compile.
    [() => api.invoicePage(server.acme.id, { status: 'LOST' }), 400, 'invalid_request'],
    [() => api.invoicePage(server.acme.id, { cursor: 'nonsense' }), 400, 'invalid_request'],
    [() => createApi({ baseUrl: server.api, accessToken: 'gat_none' }).businesses(), 401, 'invalid_token'],
  ] as const;
  for (const [call, status, code] of rejections) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof GatehouseError);
      assert.deepEqual([error.status, error.code], [status, code]);
      return true;
    });
  }
});

const INVOICE = { id: '1', number: 'INV-1', status: 'SENT', total: '1.00', currency: 'GBP', customerId: 'c' };

test('only the cursor of a next link is used: the token is sent to no other address', async () => {
  const elsewhere = await startFaultyServer(send(200, []));
  const link = `<${elsewhere.url}/api/v1/accounting/invoices?limit=1&cursor=next%2B1>; rel="next"`;
  const faultyServer = await startFaultyServer(send(200, [INVOICE], { link }), send(200, [INVOICE]));

  const read = await Array.fromAsync(faultyServer.api().invoices(BUSINESS, { pageSize: 1 }));

  assert.equal(read.length, 2);
  assert.equal(elsewhere.requests.length, 0);
  assert.deepEqual(
    faultyServer.requests.map(({ path }) => path),
    ['/api/v1/accounting/invoices?limit=1', '/api/v1/accounting/invoices?limit=1&cursor=next%2B1'],
  );
});

test('a page that links to itself as the next ends the iteration with an error', async () => {
  const faultyServer = await startFaultyServer(send(200, [INVOICE], { link: '</x?cursor=a>; rel="next"' }));

  await assert.rejects(Array.fromAsync(faultyServer.api().invoices(BUSINESS)), { code: 'invalid_response' });
});

test('pages that link to one another in a cycle end the iteration with an error', async () => {
  const next = (cursor: string) => send(200, [INVOICE], { link: `</x?cursor=${cursor}>; rel="next"` });
  const faultyServer = await startFaultyServer(next('a'), next('b'), next('c'), next('a'), send(200, []));

  await assert.rejects(Array.fromAsync(faultyServer.api().invoices(BUSINESS)), { code: 'invalid_response' });
  assert.equal(faultyServer.requests.length, 4);
});

test('unknown fields are kept, and are not an error', async () => {
  const more = { ...INVOICE, dueDate: '2030-01-01', lines: [] };
  const faultyServer = await startFaultyServer(send(200, [more]));

  assert.deepEqual((await faultyServer.api().invoicePage(BUSINESS)).invoices, [more]);
});
