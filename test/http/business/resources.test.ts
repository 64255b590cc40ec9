import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setInvoiceStatus } from '../../../src/business/invoices.ts';
import { listEndpoints } from '../../../src/business/routes.ts';
import { DAY } from '../../../src/lib/clock.ts';
import { RESOURCES } from '../../../src/resources/all.ts';
import { connectBusiness } from '../../support/business-api.ts';
import { SCOPES } from '../../support/scopes.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const api = await connectBusiness(server, 'Harbour');
const [CONTACTS, COMPANIES, INVOICES, DEALS] = [
  '/api/v1/crm/contacts',
  '/api/v1/crm/companies',
  '/api/v1/accounting/invoices',
  '/api/v1/crm/deals',
];
const LINE = { description: 'House blend', quantity: '12', unitPrice: '7.50', taxRate: '20' };

const { body: contact } = await api.send('POST', CONTACTS, { name: 'Mara' });
const draftOf = async (changes: object = {}) =>
  (await api.send('POST', INVOICES, { currency: 'GBP', customerId: contact.id, lines: [LINE], ...changes })).body;

test('every resource has a list, and each record has its own path', async () => {
  for (const { path } of RESOURCES) {
    const { status, body } = await api.get(path);
    assert.equal(status, 200, path);
    assert.ok(Array.isArray(body), path);
    assert.equal((await api.get(`${path}/${api.business.id}`)).status, 404, path);
    assert.equal((await api.get(`${path}/${'x'.repeat(5000)}`)).status, 404, path);
  }
});

test('a contact is created with its company, read, changed and archived', async () => {
  const company = await api.send('POST', COMPANIES, { name: 'Northwind', country: 'GB' });
  const created = await api.send('POST', CONTACTS, { name: 'Ida', companyId: company.body.id });
  const { id } = created.body;
  const changed = await api.send('PATCH', `${CONTACTS}/${id}`, { email: 'ida@northwind.example', companyId: null });
  const archived = await api.send('POST', `${CONTACTS}/${id}/archive`);

  assert.equal(created.status, 201);
  assert.equal(created.headers.get('location'), `${CONTACTS}/${id}`);
  assert.deepEqual([created.body.companyId, changed.body.companyId], [company.body.id, null]);
  assert.deepEqual([changed.body.name, changed.body.email], ['Ida', 'ida@northwind.example']);
  assert.equal(archived.body.status, 'ARCHIVED');
  assert.deepEqual((await api.get(`${CONTACTS}/${id}`)).body, archived.body);
});

test('an invoice adds up its lines and taxes, exactly', async () => {
  const { total, subtotal, tax, amountDue, lines, number } = await draftOf({
    lines: [
      LINE,
      { description: 'Discount', quantity: '1', unitPrice: '-0.01' },
      { ...LINE, quantity: '0.3333', taxRate: '17.5' },
    ],
  });

  assert.deepEqual([subtotal, tax, total, amountDue], ['92.49', '18.44', '110.93', '110.93']);
  assert.deepEqual([lines[0].amount, lines[0].tax, lines[1].taxRate], ['90.00', '18.00', '0']);
  assert.match(number, /^INV-\d{4}$/);
});

test('an invoice goes from draft to sent to paid, and each step is an event of its own', async () => {
  const { id } = await draftOf();
  const sent = await api.send('POST', `${INVOICES}/${id}/send`);
  const part = await api.send('POST', `${INVOICES}/${id}/pay`, { amount: '8', method: 'Card' });
  const paid = await api.send('POST', `${INVOICES}/${id}/pay`);

  assert.deepEqual([sent.body.status, part.body.status, paid.body.status], ['SENT', 'SENT', 'PAID']);
  assert.deepEqual([part.body.amountPaid, part.body.amountDue, paid.body.amountDue], ['8.00', '100.00', '0.00']);
  assert.deepEqual(
    paid.body.payments.map(({ amount }: { amount: string }) => amount),
    ['8.00', '100.00'],
  );
  await server.spreadHappenings();
  const events = await server.storage().durable.selectFrom('events').select(['type', 'data']).orderBy('id').execute();
  const ofInvoice = events.filter(({ data }) => JSON.parse(data).invoiceId === id).map(({ type }) => type);
  assert.deepEqual(ofInvoice, [
    'invoice.created',
    'invoice.updated',
    'invoice.sent',
    'invoice.updated',
    'invoice.updated',
    'invoice.paid',
  ]);
});

test('a change that the state does not allow is a 409 that names what is allowed', async () => {
  const { id } = await draftOf();
  const early = await api.send('POST', `${INVOICES}/${id}/pay`);
  await api.send('POST', `${INVOICES}/${id}/send`);
  const late = await api.send('PATCH', `${INVOICES}/${id}`, { notes: 'Thank you' });

  assert.deepEqual([early.status, early.body.state, early.body.allowed], [409, 'DRAFT', ['send', 'void']]);
  assert.deepEqual([late.status, late.body.error, late.body.allowed], [409, 'conflict', ['pay', 'void']]);
});

test('a deal moves through the pipeline, is lost with a reason, and reopened', async () => {
  const { body: deal } = await api.send('POST', DEALS, { title: 'Machines', amount: '18400', currency: 'GBP' });
  const moved = await api.send('POST', `${DEALS}/${deal.id}/move`, { stage: 'PROPOSAL' });
  const lost = await api.send('POST', `${DEALS}/${deal.id}/lose`, { reason: 'Too dear' });
  const reopened = await api.send('POST', `${DEALS}/${deal.id}/reopen`);

  assert.deepEqual(
    [deal.stage, moved.body.stage, lost.body.stage, reopened.body.stage],
    ['LEAD', 'PROPOSAL', 'LOST', 'NEGOTIATION'],
  );
  assert.deepEqual([deal.amount, lost.body.lostReason, reopened.body.lostReason], ['18400.00', 'Too dear', null]);
});

test('an error names every wrong field and what is wrong with it', async () => {
  const { status, body } = await api.send('POST', INVOICES, {
    currency: 'pounds',
    lines: [{ description: '', quantity: 'x', unitPrice: '1', colour: 'red' }],
    dueDate: '31/07/2026',
    total: '5.00',
  });

  assert.deepEqual([status, body.error, body.reason], [400, 'invalid_request', 'fields_invalid']);
  assert.deepEqual(body.errors.map(({ field }: { field: string }) => field).sort(), [
    'currency',
    'customerId',
    'dueDate',
    'lines[0].colour',
    'lines[0].description',
    'lines[0].quantity',
    'total',
  ]);
});

test('an error about a whole body or list has no example that is [object Object]', async () => {
  const { id } = await draftOf();
  const [list, empty, lines] = [
    await api.send('POST', INVOICES, []),
    await api.send('PATCH', `${INVOICES}/${id}`, {}),
    await api.send('PATCH', `${INVOICES}/${id}`, { lines: 'x' }),
  ];

  assert.equal(list.body.error_description, 'body must be a JSON object.');
  assert.equal(empty.body.error_description, 'body must have at least one field.');
  for (const { status, body } of [list, empty, lines]) {
    assert.equal(status, 400);
    assert.doesNotMatch(JSON.stringify(body), /\[object/);
  }
});

test('an id may be written in capitals, in a path and in a filter', async () => {
  const company = (await api.send('POST', COMPANIES, { name: 'Capital' })).body.id;
  const { id } = (await api.send('POST', CONTACTS, { name: 'Cap', companyId: company })).body;
  const upper = String(id).toUpperCase();
  const listed = await api.get(`${CONTACTS}?companyId=${String(company).toUpperCase()}`);

  assert.equal((await api.get(`${CONTACTS}/${upper}`)).body.id, id);
  assert.equal((await api.send('PATCH', `${CONTACTS}/${upper}`, { name: 'Caps' })).status, 200);
  assert.equal(listed.body[0]?.id, id);
});

test('a path that ends with a slash is not one of a record', async () => {
  for (const [method, path] of [
    ['GET', `${INVOICES}/`],
    ['GET', `${CONTACTS}/`],
    ['POST', `${INVOICES}//send`],
  ]) {
    const response = await fetch(server.api + path, { method });
    const { error, error_description } = await response.json();
    assert.deepEqual(
      [response.status, error, error_description],
      [404, 'not_found', 'There is nothing at this address.'],
    );
  }
});

test('a cursor that is none is a 400 that names neither a header nor a field of another interface', async () => {
  const { status, body } = await api.get(`${INVOICES}?cursor=x`);

  assert.deepEqual([status, body.error_description], [400, 'Send the cursor that the previous page returned.']);
});

test('values that do not fit together are reported by field', async () => {
  const wrong = async (body: object) =>
    (await api.send('POST', INVOICES, { currency: 'GBP', customerId: contact.id, lines: [LINE], ...body })).body
      .errors?.[0]?.field;

  assert.equal(await wrong({ customerId: api.business.id }), 'customerId');
  assert.equal(await wrong({ currency: 'ABC' }), 'currency');
  assert.equal(await wrong({ currency: 'JPY' }), 'lines[0].unitPrice');
  assert.equal(await wrong({ issueDate: '2030-02-01', dueDate: '2030-01-01' }), 'dueDate');
  const { number } = await draftOf();
  assert.equal(await wrong({ number }), 'number');
});

test('a transition that changes nothing or comes too late is explained by a sentence about the field', async () => {
  const deal = await api.send('POST', DEALS, { title: 'Machines', amount: '10.00', currency: 'GBP' });
  const same = await api.send('POST', `${DEALS}/${deal.body.id}/move`, { stage: 'LEAD' });
  const { id } = await draftOf();
  await api.send('POST', `${INVOICES}/${id}/send`);
  await api.send('POST', `${INVOICES}/${id}/pay`, { amount: '8.00' });
  const paid = await api.send('POST', `${INVOICES}/${id}/void`);

  assert.deepEqual([same.status, paid.status], [400, 400]);
  assert.equal(same.body.error_description, 'stage must differ: the deal is already in LEAD.');
  assert.equal(paid.body.error_description, 'status cannot be VOID: a payment has been recorded.');
});

test('an update that changes no value keeps the ETag and the time, and is no event', async () => {
  const { headers, body } = await api.send('POST', INVOICES, {
    currency: 'GBP',
    customerId: contact.id,
    lines: [LINE],
  });
  const path = `${INVOICES}/${body.id}`;
  const { tax, amount, ...line } = body.lines[0];
  server.advanceClock(1000);

  for (const changes of [{ notes: null }, { lines: [line] }, { currency: 'GBP' }]) {
    const same = await api.send('PATCH', path, changes);
    assert.deepEqual([same.status, same.body], [200, body]);
    assert.equal(same.headers.get('etag'), headers.get('etag'));
  }
  const changed = await api.send('PATCH', path, { lines: [{ ...line, quantity: '13' }] });

  assert.notEqual(changed.headers.get('etag'), headers.get('etag'));
  await server.spreadHappenings();
  const events = await server.storage().durable.selectFrom('events').select(['type', 'data']).execute();
  const types = events.filter(({ data }) => JSON.parse(data).invoiceId === body.id).map(({ type }) => type);
  assert.deepEqual(types.sort(), ['invoice.created', 'invoice.updated']);
});

test('a currency that was withdrawn is rejected in a new record, and stays in one that has it', async () => {
  const rejected = await api.send('POST', INVOICES, { currency: 'HRK', customerId: contact.id, lines: [LINE] });
  const { id } = await draftOf();
  const { durable } = server.storage();
  await durable
    .updateTable('invoices' as never)
    .set({ currency: 'HRK' } as never)
    .where('id' as never, '=', id as never)
    .execute();

  const sent = await api.send('POST', `${INVOICES}/${id}/send`);

  assert.equal(rejected.status, 400);
  assert.deepEqual([sent.status, sent.body.currency, sent.body.total], [200, 'HRK', '108.00']);
});

test('of two updates with the same ETag one wins and the other gets 412', async () => {
  const { headers, body } = await api.send('POST', CONTACTS, { name: 'Per' });
  const match = { 'if-match': headers.get('etag') ?? '' };
  const path = `${CONTACTS}/${body.id}`;

  const results = await Promise.all(['Pär', 'Pelle'].map((name) => api.send('PATCH', path, { name }, match)));

  assert.deepEqual(results.map(({ status }) => status).sort(), [200, 412]);
  assert.equal((await api.send('PATCH', path, { name: 'Per' }, { 'if-match': '1' })).body.reason, 'if_match_malformed');
});

test('fifty creates at once with one idempotency key make one invoice and get the same response', async () => {
  const key = { 'idempotency-key': 'one-key' };
  const sent = { currency: 'GBP', customerId: contact.id, lines: [LINE], number: 'ONCE' };

  const results = await Promise.all(Array.from({ length: 50 }, () => api.send('POST', INVOICES, sent, key)));

  const [first] = results;
  for (const { status, body } of results) assert.deepEqual([status, body], [201, first?.body]);
  assert.equal(results.filter(({ headers }) => headers.get('idempotency-replayed') === 'true').length, 49);
  const other = await api.send('POST', INVOICES, { ...sent, number: 'TWICE' }, key);
  assert.deepEqual([other.status, other.body.reason], [422, 'idempotency_key_reused']);
});

test('a day later a response is no longer repeated, and the key can be used for another request', async () => {
  const key = { 'idempotency-key': 'yesterday' };
  const first = await api.send('POST', CONTACTS, { name: 'Old' }, key);
  await server
    .storage()
    .durable.updateTable('idempotency_keys')
    .set({ created_at: server.clock() - DAY })
    .where('key', '=', 'yesterday')
    .execute();
  const second = await api.send('POST', CONTACTS, { name: 'New' }, key);

  assert.deepEqual([first.status, second.status, second.body.name], [201, 201, 'New']);
});

test('control characters are rejected in every text, e-mail addresses included', async () => {
  for (const email of ['"\u0000"@example.com', '"\r\n"@example.com', '"\u001b"@example.com']) {
    const { status, body } = await api.send('POST', CONTACTS, { name: 'X', email });
    assert.deepEqual([status, body.errors?.[0]?.field], [400, 'email']);
  }
});

test('numbers that are taken are skipped in a few statements', async () => {
  const { business, send } = await connectBusiness(server, 'Numbered');
  const { body: customer } = await send('POST', CONTACTS, { name: 'C' });
  const invoice = { currency: 'GBP', customerId: customer.id, lines: [LINE] };
  for (let number = 2; number < 40; number++) {
    await server.addInvoice(business, { number: `INV-${String(number).padStart(4, '0')}` });
  }
  await send('POST', INVOICES, invoice);
  await server
    .storage()
    .durable.updateTable('number_sequences')
    .set({ next: 1 })
    .where('business_id', '=', business.id)
    .execute();

  const { status, body } = await send('POST', INVOICES, invoice);

  assert.equal(status, 201);
  assert.match(body.number, /^INV-00[4-9]\d$/);
});

test('chosen numbers move the next automatic number by little, whatever they are', async () => {
  const { business, send } = await connectBusiness(server, 'Chosen');
  const { body: customer } = await send('POST', CONTACTS, { name: 'C' });
  const create = () => send('POST', INVOICES, { currency: 'GBP', customerId: customer.id, lines: [LINE] });
  await create();
  const powers = Array.from({ length: 54 }, (_, exponent) => 2n ** BigInt(exponent));
  for (const number of new Set(powers.flatMap((power) => [power - 1n, power, power + 1n]))) {
    if (number > 1n) await server.addInvoice(business, { number: `INV-${String(number).padStart(4, '0')}` });
  }

  const created = [await create(), await create()];

  assert.deepEqual(
    created.map(({ status, body }) => [status, body.number]),
    [
      [201, 'INV-0006'],
      [201, 'INV-0010'],
    ],
  );
});

test('a sequence of numbers that was driven to its end starts again', async () => {
  const { business, send } = await connectBusiness(server, 'Exhausted');
  const { body: customer } = await send('POST', CONTACTS, { name: 'C' });
  const create = () => send('POST', INVOICES, { currency: 'GBP', customerId: customer.id, lines: [LINE] });
  await create();
  await server
    .storage()
    .durable.updateTable('number_sequences')
    .set({ next: 2 ** 30 })
    .where('business_id', '=', business.id)
    .execute();

  const created = [await create(), await create()];

  assert.deepEqual(
    created.map(({ status, body }) => [status, body.number]),
    [
      [201, 'INV-0002'],
      [201, 'INV-0003'],
    ],
  );
});

test('an operator who sets a status keeps the payments, and pays what is due', async () => {
  const { id, number } = await draftOf();
  await api.send('POST', `${INVOICES}/${id}/send`);
  await api.send('POST', `${INVOICES}/${id}/pay`, { amount: '8', method: 'Card' });
  const set = (status: string) =>
    setInvoiceStatus(server.storage().durable, { businessId: api.business.id, number, status }, server.clock());
  await set('OVERDUE');
  const overdue = (await api.get(`${INVOICES}/${id}`)).body;
  await assert.rejects(set('VOID'), /a payment has been recorded/);
  await set('PAID');
  const paid = (await api.get(`${INVOICES}/${id}`)).body;

  assert.deepEqual([overdue.amountPaid, overdue.amountDue], ['8.00', '100.00']);
  assert.deepEqual(
    paid.payments.map(({ amount }: { amount: string }) => amount),
    ['8.00', '100.00'],
  );
});

test('a request that failed can be sent again with its idempotency key', async () => {
  const key = { 'idempotency-key': 'again' };
  const failed = await api.send('POST', CONTACTS, { name: 'Eva', companyId: api.business.id }, key);
  const repeated = await api.send('POST', CONTACTS, { name: 'Eva' }, key);

  assert.deepEqual([failed.status, repeated.status], [400, 201]);
});

test('lists are filtered and sorted alike, and pages follow each other without a gap', async () => {
  const { business, get, send } = await connectBusiness(server, 'Sorted');
  const { body: customer } = await send('POST', CONTACTS, { name: 'C' });
  for (const day of ['05', '03', '09', '01', '07']) {
    server.advanceClock(1000);
    const dates = { issueDate: '2030-01-01', dueDate: `2030-02-${day}` };
    await send('POST', INVOICES, { currency: 'EUR', customerId: customer.id, lines: [LINE], ...dates });
  }
  const days = async (query: string) => {
    const seen: string[] = [];
    for (let next: string | undefined = `${INVOICES}${query}`; next; ) {
      const { body, headers } = await get(next);
      seen.push(...body.map(({ dueDate }: { dueDate: string }) => dueDate.slice(-2)));
      next = /^<[^>]*?(\/api[^>]+)>/.exec(headers.get('link') ?? '')?.[1];
    }
    return seen.join(' ');
  };

  assert.equal(await days('?limit=2'), '07 01 09 03 05');
  assert.equal(await days('?limit=2&sort=createdAt'), '05 03 09 01 07');
  assert.equal(await days('?limit=2&sort=dueDate'), '01 03 05 07 09');
  assert.equal(await days('?limit=2&sort=-dueDate&status=DRAFT'), '09 07 05 03 01');
  assert.equal(await days(`?limit=2&sort=-updatedAt&customerId=${customer.id}&status=DRAFT`), '07 01 09 03 05');
  assert.equal(await days('?sort=dueDate&since=2030-02-03&until=2030-02-07'), '03 05');
  assert.equal(await days(`?customerId=${business.id}`), '');
});

test('since and until take a day, or a time with its zone, and nothing else', async () => {
  const rejected = async (query: string) => {
    const { status, body } = await api.get(`${INVOICES}?${query}`);
    assert.deepEqual([status, body.reason], [400, 'value_not_allowed'], query);
    return body.error_description;
  };
  for (const text of ['2026-', '2026-7-1', '2026-08', '2026-11-18 (x)', '2026-11-18T10:00', '2026-11-18T10:00:00']) {
    assert.match(await rejected(`since=${text}`), /^since must be a date, such as .*, or a time with its zone/);
  }
  for (const text of ['2026-02-30', '2026-04-31', '2026-02-29T10:00:00Z', '2026-01-01T25:00:00Z']) {
    assert.equal(await rejected(`until=${text}`), `until does not exist: ${text}.`);
  }
  assert.equal(await rejected('sort=dueDate&since=2026-02-31'), 'since does not exist: 2026-02-31.');
  assert.match(await rejected('since=2026-11-18T10:00:00+02:00'), /Encode the \+ of the zone as %2B\.$/);
});

test('a list since a day before 1970 has all records, and one until then none', async () => {
  for (const sort of ['createdAt', 'updatedAt', 'dueDate']) {
    const count = async (query: string) => (await api.get(`${INVOICES}?sort=${sort}&limit=200&${query}`)).body.length;

    assert.equal(await count('since=1969-01-01'), await count(''), sort);
    assert.equal(await count('until=1969-01-01'), 0, sort);
  }
});

test('every scope that the consent screen can show opens an endpoint', () => {
  const opened = new Set(listEndpoints(true).map(({ scope }) => scope));

  assert.deepEqual(
    SCOPES.filter((scope) => !opened.has(scope)),
    [],
  );
});
