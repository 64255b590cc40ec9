import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { databaseUrl, TEMPLATE } from '../support/databases.ts';
import { startNodes } from '../support/nodes.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';

const REQUESTS = 50;
const INVOICES = '/api/v1/accounting/invoices';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-idempotency-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);

const sqliteUrl = `sqlite:${join(folder, 'gatehouse.db')}`;
const created = await openStorage(sqliteUrl);
await migrate(created);
await created.close();

for (const [title, count, url] of [
  ['one node on SQLite', 1, sqliteUrl],
  ['three nodes on PostgreSQL', 3, databaseUrl(postgres.url, TEMPLATE)],
] as const) {
  suite(title, async () => {
    const { nodes, storage, clients, acme } = await startNodes(count, url);
    const tokens = await clients[0]?.connect({ scope: 'read:invoices write:invoices read:contacts' });
    const headers = {
      authorization: `Bearer ${tokens?.access_token}`,
      'x-business-id': acme.id,
      'content-type': 'application/json',
    };
    const contactId = '0190b9a1-8d5e-7f6a-9b7c-8d9e0f1a2b3c';
    const contact = { id: contactId, business_id: acme.id, name: 'Mara', status: 'ACTIVE', version: 1 };
    await storage.durable
      .insertInto('contacts')
      .values({ ...contact, created_at: 0, updated_at: 0 })
      .execute();

    /** Repeats the request with the same key after a 503, which a busy machine may send. */
    const create = async (index: number, key: string): Promise<{ status: number; text: string }> => {
      const lines = [{ description: 'Beans', quantity: '1', unitPrice: '1.00' }];
      const body = JSON.stringify({ currency: 'GBP', customerId: contactId, lines });
      const { api = '' } = nodes[index % count] ?? {};
      const sent = { method: 'POST', headers: { ...headers, 'idempotency-key': key }, body };
      const response = await fetch(api + INVOICES, sent);
      const [status, text] = [response.status, await response.text()];
      return status === 503 ? create(index, key) : { status, text };
    };
    const countInvoices = async () =>
      (await storage.durable.selectFrom('invoices').select('id').where('business_id', '=', acme.id).execute()).length;

    test('fifty creates at once with one idempotency key make one invoice and get equal responses', async () => {
      const responses = await Promise.all(Array.from({ length: REQUESTS }, (_, index) => create(index, 'once')));

      assert.deepEqual([...new Set(responses.map(({ status }) => status))], [201]);
      assert.equal(new Set(responses.map(({ text }) => text)).size, 1);
      assert.equal(await countInvoices(), 1);
    });

    test('a node that is killed meanwhile leaves one invoice, and a retry gets it', async () => {
      const before = await countInvoices();
      const [node] = nodes;
      const requests = Array.from({ length: REQUESTS }, (_, index) => create(index, 'killed').catch(() => undefined));
      // The kill comes after the first response or a millisecond, while most requests are in flight.
      await Promise.race([requests[0], setTimeout(1)]);
      await node?.stop('SIGKILL');
      await Promise.all(requests);
      await node?.start();

      const retried = await create(0, 'killed');

      assert.equal(retried.status, 201);
      assert.equal(await countInvoices(), before + 1);
      for (const response of await Promise.all([create(1, 'killed'), create(2, 'killed')])) {
        assert.equal(response.text, retried.text);
      }
    });
  });
}
