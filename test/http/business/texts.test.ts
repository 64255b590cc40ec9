import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectBusiness } from '../../support/business-api.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const api = await connectBusiness(server, 'Harbour');
const [CONTACTS, INVOICES] = ['/api/v1/crm/contacts', '/api/v1/accounting/invoices'];
const LINE = { description: 'House blend', quantity: '12', unitPrice: '7.50', taxRate: '20' };

const { body: contact } = await api.send('POST', CONTACTS, { name: 'Mara' });

test('zero-width and bidirectional characters are rejected in every text, items of lists included', async () => {
  const { id } = (await api.send('POST', CONTACTS, { name: 'Plain' })).body;
  const line = { ...LINE, description: 'House\u2066 blend' };
  const rejected = [
    ...['\u200b', '\u200d', '\u202e', '\u2066', '\u200f', '\ufeff', '\u00ad', '\u{e0041}', '\ufe00\ufe01'].map(
      (hidden) => api.send('POST', CONTACTS, { name: `a${hidden}b` }),
    ),
    api.send('PATCH', `${CONTACTS}/${id}`, { name: 'a\u202eb' }),
    api.send('POST', INVOICES, { currency: 'GBP', customerId: contact.id, lines: [LINE, line] }),
  ];

  const errors = (await Promise.all(rejected)).map(({ status, body }) => [status, body.errors?.[0]]);

  const message = 'has a zero-width or bidirectional character';
  for (const error of errors.slice(0, -1)) assert.deepEqual(error, [400, { field: 'name', message }]);
  assert.deepEqual(errors.at(-1), [400, { field: 'lines[1].description', message }]);
});

test('an invoice can have as many lines, and as long texts in them, as the schema allows', async () => {
  const longest = {
    description: '🏡'.repeat(500),
    quantity: '123456789.1234',
    unitPrice: '-1.12',
    taxRate: '12.345',
  };
  const body = { currency: 'GBP', customerId: contact.id, notes: '🏡'.repeat(4000), number: 'N'.repeat(80) };
  const lines = [{ ...longest, unitPrice: `${'9'.repeat(20)}.12` }, ...Array.from({ length: 199 }, () => longest)];

  const created = await api.send('POST', INVOICES, { ...body, lines });
  const changed = await api.send('PATCH', `${INVOICES}/${created.body.id}`, { lines: lines.toReversed() });
  const tooLarge = await api.send('POST', INVOICES, { ...body, notes: 'x'.repeat(512 * 1024), lines: [LINE] });
  const other = await api.send('POST', CONTACTS, { name: 'x'.repeat(64 * 1024) });

  assert.deepEqual([created.status, created.body.lines.length], [201, 200]);
  assert.deepEqual([changed.status, changed.body.lines.at(-1).description], [200, longest.description]);
  assert.deepEqual([tooLarge.status, tooLarge.body.reason], [413, 'body_too_large']);
  assert.deepEqual([other.status, other.body.reason], [413, 'body_too_large']);
});

test('names in every script are accepted, and emoji with their joiners', async () => {
  const names = [
    'می\u200cخواهم',
    'PDF\u200cها',
    'क्\u200dष',
    '👩🏽\u200d💻',
    '❤\ufe0f\u200d🔥',
    '葛\u{e0100}城',
    'שלום, world',
  ];

  for (const name of names) {
    const { status, body } = await api.send('POST', CONTACTS, { name });
    assert.deepEqual([status, body.name], [201, name]);
  }
});

test('a name that comes twice in an item of a list is rejected with its path [T26]', async () => {
  const line = '{"description":"x","quantity":"1","unitPrice":"1","unit\\u0050rice":"1000"}';
  const body = `{"currency":"GBP","customerId":"${contact.id}","lines":[${JSON.stringify(LINE)}, ${line}]}`;
  const response = await fetch(`${server.api}${INVOICES}`, {
    method: 'POST',
    headers: { ...api.bearer, 'content-type': 'application/json' },
    body,
  });

  const { reason, error_description } = await response.json();
  assert.deepEqual(
    [response.status, reason, error_description],
    [400, 'field_repeated', 'lines[1].unitPrice was sent more than once.'],
  );
});
