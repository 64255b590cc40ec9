import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import type { User } from '../../../src/accounts/users.ts';
import { listEndpoints } from '../../../src/business/routes.ts';
import { connectAgent, connectTo, REVISIONS } from '../../support/mcp.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const url = `${server.api}/mcp`;
const token = await connectTo(server, '/mcp');
const agents = new Map<string, Client>();
for (const revision of REVISIONS) agents.set(revision, await connectAgent(url, token, revision));

/** The client validates the structured content against the output schema of the tool. */
async function call(agent: Client, name: string, args: Record<string, unknown> = {}) {
  const result = (await agent.callTool({ name, arguments: args })) as CallToolResult;
  const [content] = result.content;
  assert.ok(content?.type === 'text');
  const value = JSON.parse(content.text);
  if (result.isError) assert.equal(result.structuredContent, undefined);
  else assert.deepEqual(result.structuredContent, value);
  return { isError: result.isError ?? false, value };
}

async function done(agent: Client, name: string, args: Record<string, unknown> = {}) {
  const { isError, value } = await call(agent, name, args);
  assert.equal(isError, false, `${name}: ${JSON.stringify(value)}`);
  return value;
}

for (const [revision, agent] of agents) {
  test(`a client of revision ${revision} finds a tool for every endpoint with a scope, and get_me`, async () => {
    const { tools } = await agent.listTools();

    const expected = listEndpoints(true).filter(({ scope }) => scope !== null);
    assert.equal(agent.getNegotiatedProtocolVersion(), revision);
    assert.deepEqual(tools.length, expected.length + 1);
    for (const { operationId, summary, scope, method } of expected) {
      const name = operationId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const tool = tools.find((each) => each.name === name);
      assert.ok(tool, name);
      assert.equal(tool.title, summary);
      assert.deepEqual(tool._meta?.['gatehouse/scopes'], [scope]);
      assert.match(tool.description ?? '', new RegExp(`It needs the scope \`${scope}\``));
      assert.equal(tool.annotations?.readOnlyHint, method === 'GET', name);
      assert.equal(tool.annotations?.openWorldHint, false);
      assert.equal(tool.outputSchema?.type, 'object');
      assert.equal('idempotency_key' in (tool.inputSchema.properties ?? {}), method !== 'GET');
    }
  });

  test(`a client of revision ${revision} creates, reads, updates and changes records by tools`, async () => {
    const contact = await done(agent, 'create_contact', { name: 'Mara Lind' });
    const lines = [{ description: 'Beans', quantity: '2', unitPrice: '7.50', taxRate: '20' }];
    const draft = await done(agent, 'create_invoice', { customerId: contact.id, currency: 'GBP', lines });
    assert.equal(draft.total, '18.00');
    const { id } = draft;

    assert.equal((await done(agent, 'update_invoice', { id, notes: 'Thank you' })).notes, 'Thank you');
    assert.equal((await done(agent, 'send_invoice', { id })).status, 'SENT');
    assert.equal((await done(agent, 'pay_invoice', { id, amount: '8.00' })).amountDue, '10.00');
    assert.equal((await done(agent, 'get_invoice', { id })).payments.length, 1);
    const { items } = await done(agent, 'list_invoices', { customerId: contact.id, status: 'SENT' });
    assert.deepEqual(
      items.map((each: { id: string }) => each.id),
      [id],
    );
  });

  test(`a client of revision ${revision} reads a list page by page`, async () => {
    const names = [`Ann ${revision}`, `Bea ${revision}`, `Cem ${revision}`];
    for (const name of names) await done(agent, 'create_company', { name });
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await done(agent, 'list_companies', { limit: 1, sort: '-createdAt', ...(cursor && { cursor }) });
      found.push(...page.items.map(({ name }: { name: string }) => name));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    assert.deepEqual(found.slice(0, 3), names.toReversed());
  });

  test(`a client of revision ${revision} gets errors that say what to correct`, async () => {
    const missing = await call(agent, 'get_invoice', { id: '0190a6c6-0000-7000-8000-000000000000' });
    const wrong = await call(agent, 'create_invoice', { currency: 'GBP', colour: 'red' });
    const unknown = await call(agent, 'list_invoices', { status: 'LOST' });
    const contact = await done(agent, 'create_contact', { name: 'Nils' });
    await done(agent, 'archive_contact', { id: contact.id });
    const conflict = await call(agent, 'archive_contact', { id: contact.id });

    assert.deepEqual([missing.isError, missing.value.error, missing.value.reason], [true, 'not_found', 'not_found']);
    assert.equal(wrong.value.reason, 'fields_invalid');
    assert.ok(wrong.value.errors.some(({ field }: { field: string }) => field === 'colour'));
    assert.equal(unknown.value.reason, 'value_not_allowed');
    assert.equal(unknown.value.error_uri, `${server.api}/docs/errors/invalid_request#value_not_allowed`);
    assert.deepEqual([conflict.value.reason, conflict.value.allowed], ['state_not_allowed', ['restore']]);
  });

  test(`a client of revision ${revision} repeats a call with the same idempotency key, and it runs once`, async () => {
    const args = { name: `Once ${revision}`, idempotency_key: `key-${revision}` };
    const first = await done(agent, 'create_contact', args);
    const second = await done(agent, 'create_contact', args);
    const other = await call(agent, 'create_contact', { ...args, name: 'Other' });

    assert.deepEqual(second, first);
    assert.equal(other.value.reason, 'idempotency_key_reused');
  });
}

const agent = agents.get('2026-07-28') as Client;

test('two users of one app in one business can use the same idempotency key', async () => {
  const app = await server.addApp({ name: 'Shared', ownerBusinessId: server.acme.id, scopes: ['write:contacts'] });
  const boris = await server.addUser('Boris', [[server.acme, 'member']]);
  const createAs = async (user: User, name: string) => {
    const request = { client_id: app.id, scope: 'write:contacts', resource: url };
    const code = await server.allow(request, await server.signedIn(user));
    const { body } = await server.exchange(code, { client_id: app.id, client_secret: app.secret });
    return done(await connectAgent(url, body.access_token), 'create_contact', { name, idempotency_key: 'contact-1' });
  };

  const first = await createAs(server.ada, 'Mara');
  const other = await createAs(boris, 'Nils');
  const same = await createAs(boris, 'Nils');

  assert.deepEqual([first.name, other.name], ['Mara', 'Nils']);
  assert.equal(same.id, other.id);
});

test('arguments that a tool does not take are named, and so are those of the wrong kind', async () => {
  const reasons = async (name: string, args: Record<string, unknown>) => {
    const { value } = await call(agent, name, args);
    return value.errors?.map(({ field, message }: Record<string, string>) => `${field} ${message}`);
  };

  assert.deepEqual(await reasons('get_me', { business: 'x' }), ['business is not a field that can be sent here']);
  assert.deepEqual(await reasons('get_invoice', {}), ['id is missing']);
  assert.deepEqual(await reasons('get_invoice', { id: 7 }), ['id must be a valid uuid']);
  assert.deepEqual(await reasons('list_invoices', { status: ['SENT'] }), ['status must be one value']);
  assert.deepEqual(await reasons('create_contact', { name: 'A', idempotency_key: 7 }), [
    'idempotency_key must be text',
  ]);
  assert.deepEqual(await reasons('list_invoices', { idempotency_key: 'x' }), [
    'idempotency_key is not a field that can be sent here',
  ]);
});

test('a wrong cursor is an error that says where to find a valid one', async () => {
  const { value } = await call(agent, 'list_invoices', { cursor: 'x' });
  assert.match(value.error_description, /the cursor that the previous page returned/);
});

test('a null argument of a list counts as absent, and so does an idempotency key that is null', async () => {
  assert.ok((await done(agent, 'list_invoices', { status: null, cursor: null, idempotency_key: null })).items);
  const first = await done(agent, 'create_contact', { name: 'Ida', idempotency_key: null });
  const second = await done(agent, 'create_contact', { name: 'Ida', idempotency_key: null });
  assert.notEqual(first.id, second.id);
});

test('every schema of a tool has one type, because some models accept no list of types', async () => {
  for (const agent of agents.values()) {
    const { tools } = await agent.listTools();
    const create = tools.find(({ name }) => name === 'create_company');

    assert.doesNotMatch(JSON.stringify(tools), /"type":\[/);
    assert.match(
      JSON.stringify(create?.inputSchema.properties?.country),
      /^{"description":"ISO 3166-1 alpha-2.","anyOf":\[{"type":"string",.*},{"type":"null"}\]}$/,
    );
  }
});

test('every tool that reads returns content that matches its output schema', async () => {
  const { tools } = await agent.listTools();
  const reading = tools.filter(({ annotations, inputSchema }) => annotations?.readOnlyHint && !inputSchema.required);
  assert.ok(reading.length > 10);
  for (const { name } of reading) await done(agent, name);
});

test('no tool takes a business', async () => {
  const { tools } = await agent.listTools();
  for (const { name, inputSchema } of tools) {
    assert.equal(inputSchema.additionalProperties, false, name);
    assert.doesNotMatch(Object.keys(inputSchema.properties ?? {}).join(' '), /business|tenant/i, name);
  }
});

test('a tool that cannot be undone says so, and one that only adds says that', async () => {
  const { tools } = await agent.listTools();
  const hintsOf = (hint: 'destructiveHint' | 'idempotentHint') =>
    tools.filter(({ annotations }) => !annotations?.readOnlyHint && annotations?.[hint]).map(({ name }) => name);

  const destructive = hintsOf('destructiveHint');
  const idempotent = hintsOf('idempotentHint');

  assert.deepEqual(destructive.filter((name) => !name.startsWith('update_')).sort(), ['send_invoice', 'void_invoice']);
  assert.ok(idempotent.includes('update_invoice') && idempotent.includes('void_invoice'));
  assert.ok(!idempotent.includes('pay_invoice') && !idempotent.includes('create_invoice'));
});
