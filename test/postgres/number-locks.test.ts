import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATOR } from '../../src/audit/entries.ts';
import { importRecords } from '../../src/business/import/import.ts';
import { createRecord } from '../../src/business/records.ts';
import { findResource } from '../../src/resources/all.ts';
import type { Database } from '../../src/storage/storage.ts';
import { untilLockWait } from '../support/lock-waits.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';

const { storage, addBusiness } = await startPostgresFixtures();
const db = storage.durable;
const invoices = findResource('invoice');

/** A business with one customer. */
async function newBusiness() {
  const business = await addBusiness('Numbered');
  const contact = { businessId: business.id, input: { name: 'Mara', email: 'mara@northwind.example' } };
  const { values: customer } = await createRecord(db, findResource('contact'), contact, Date.now());
  const lines = [{ description: 'Beans', quantity: '1', unitPrice: '1' }];
  const createInvoice = async (on: Database, number?: string) => {
    const input = { currency: 'GBP', customerId: customer.id, lines, ...(number && { number }) };
    const { values } = await createRecord(on, invoices, { businessId: business.id, input }, Date.now());
    return values.number;
  };
  return { business, createInvoice };
}

test('an invoice without a number gets the one after a number that is chosen at the same time', async () => {
  const { createInvoice } = await newBusiness();
  let automatic: Promise<unknown> | undefined;

  await storage.transaction(async (tx) => {
    await createInvoice(tx, 'INV-0001');
    automatic = createInvoice(db);
    await untilLockWait(storage);
  });

  assert.equal(await automatic, 'INV-0002');
});

test('an invoice gets the next number while an import of invoices without numbers is being written', async () => {
  const { business, createInvoice } = await newBusiness();
  const values = { currency: 'GBP', customer: 'mara@northwind.example', total: '1.00' };
  const created: unknown[] = [];
  let opened = 0;
  async function* open() {
    const isWritten = ++opened === 2;
    for (let line = 1; line <= 501; line++) yield { line, values: { ...values } };
    if (isWritten) created.push(await createInvoice(db));
  }
  const job = { business, resource: invoices, open, isDryRun: false, onProgress() {} };

  const { isImported } = await importRecords(OPERATOR, db, job, Date.now);

  assert.ok(isImported);
  assert.deepEqual(created, ['INV-0502']);
});
