import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { databaseUrl, TEMPLATE } from '../support/databases.ts';
import { connectAgent, REVISIONS } from '../support/mcp.ts';
import { startNodes } from '../support/nodes.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';

const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);
const { nodes, clients, storage, acme } = await startNodes(3, databaseUrl(postgres.url, TEMPLATE));
const [first] = clients;
const url = `${nodes[0]?.api}/mcp`;
const tokens = await first?.connect({ scope: 'read:invoices write:invoices read:contacts', resource: url });
const contactId = '0190b9a1-8d5e-7f6a-9b7c-8d9e0f1a2b3c';
const contact = { id: contactId, business_id: acme.id, name: 'Mara', status: 'ACTIVE', version: 1 };
await storage.durable
  .insertInto('contacts')
  .values({ ...contact, created_at: 0, updated_at: 0 })
  .execute();

for (const revision of REVISIONS) {
  test(`the requests of one client of revision ${revision} can go to three nodes in turn`, async () => {
    const visited: number[] = [];
    const roundRobinFetch = (_: unknown, init?: RequestInit) => {
      const index = visited.length % nodes.length;
      visited.push(index);
      return fetch(`${nodes[index]?.api}/mcp`, init);
    };
    const agent = await connectAgent(url, tokens?.access_token ?? '', revision, roundRobinFetch);
    const call = async (name: string, args: Record<string, unknown>) => {
      const { structuredContent, isError } = await agent.callTool({ name, arguments: args });
      assert.ok(!isError, JSON.stringify(structuredContent));
      return structuredContent as Record<string, unknown>;
    };

    const lines = [{ description: 'Beans', quantity: '1', unitPrice: '1.00' }];
    const created = await call('create_invoice', { customerId: contactId, currency: 'GBP', lines });
    const { id } = created;
    await call('update_invoice', { id, notes: 'From another node' });
    await call('send_invoice', { id });
    const read = await call('get_invoice', { id });
    const { tools } = await agent.listTools();
    const paid = await call('pay_invoice', { id });

    assert.deepEqual([read.notes, read.status, paid.status], ['From another node', 'SENT', 'PAID']);
    assert.ok(tools.length > 30);
    assert.ok(visited.length >= 6 && new Set(visited).size === 3);
  });
}
