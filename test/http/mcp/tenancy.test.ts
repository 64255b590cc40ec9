import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertRecord } from '../../../src/business/records.ts';
import { listEndpoints } from '../../../src/business/routes.ts';
import { toolsOf } from '../../../src/mcp/tools.ts';
import { findResource, RESOURCES } from '../../../src/resources/all.ts';
import { callTool, connectTo, REVISIONS } from '../../support/mcp.ts';
import { SCOPES } from '../../support/scopes.ts';
import { startTestServer } from '../../support/test-server.ts';
import { dump } from '../tenancy/dump.ts';

/** All names of the other business contain the first word, and those of Acme the second. */
const [WORD, OWN_WORD] = ['Zanzibar', 'Acapulco'];

/** The tests are generated from the declarations of the endpoints. */
const TOOLS = [...toolsOf(listEndpoints(true)).values()];

const server = await startTestServer();
const { acme } = server;
const other = await server.addBusiness(`${WORD} Ltd`);
const theirs = { user: await server.addUser(WORD, [[other, 'owner']]), business: other };

/** One record of each resource in both businesses, by the path of its list. */
const ids = { own: new Map<string, string>(), other: new Map<string, string>() };
for (const resource of RESOURCES) {
  const named = Object.keys(resource.fields).find((name) => ['number', 'name', 'title', 'description'].includes(name));
  for (const [whose, business, word] of [
    ['own', acme, OWN_WORD],
    ['other', other, WORD],
  ] as const) {
    const values = { ...resource.example, [named ?? '']: `${word} ${resource.name}` };
    const add = { businessId: business.id, values };
    const record = await server.storage().transaction((tx) => insertRecord(tx, resource, add, server.clock()));
    ids[whose].set(resource.path, String(record?.values.id));
  }
}

const URLS = { any: '/mcp', own: `/mcp/${acme.id}`, other: `/mcp/${other.id}`, missing: `/mcp/${server.ada.id}` };

/** Each token, and the address at which it works. */
const TOKENS: Record<string, { token: string | undefined; works?: keyof typeof URLS; isOther?: boolean }> = {
  'no token': { token: undefined },
  'what is no token': { token: 'nonsense' },
  'a token for the business API': { token: (await server.connect({ scope: 'read:invoices' })).access_token },
  'a token for /mcp': { token: await connectTo(server, URLS.any), works: 'any' },
  'a token for the address of the business': { token: await connectTo(server, URLS.own), works: 'own' },
  'a token of another business for /mcp': {
    token: await connectTo(server, URLS.any, theirs),
    works: 'any',
    isOther: true,
  },
  'a token of another business for its address': {
    token: await connectTo(server, URLS.other, theirs),
    works: 'other',
    isOther: true,
  },
};

/** The id of a record of the business or of the other one, if the tool takes one. */
function argumentsOf({ endpoint }: (typeof TOOLS)[number], whose: 'own' | 'other'): Record<string, unknown> {
  if (!endpoint.params) return {};
  return {
    id: ids[whose].get(endpoint.path.split('/:id')[0] ?? ''),
    ...(endpoint.path.endsWith('/move') && { stage: 'PROPOSAL' }),
  };
}

for (const [who, { token, works, isOther = false }] of Object.entries(TOKENS)) {
  test(`with ${who} every tool works at its own resource alone, in its own business [G2] [G4] [P8]`, async () => {
    const before = await dump(server);
    const notTheirs = new RegExp(isOther ? OWN_WORD : WORD, 'i');
    const revision = REVISIONS[Number(isOther)] ?? '2026-07-28';
    for (const [name, path] of Object.entries(URLS)) {
      for (const tool of TOOLS) {
        // Records of the other business; and an argument never selects a business.
        const args = {
          ...argumentsOf(tool, isOther ? 'own' : 'other'),
          ...(tool.endpoint.method === 'POST' && { businessId: other.id }),
        };
        const { status, result, text } = await callTool({ url: server.api + path, token, revision }, tool.name, args);
        assert.equal(status, name === works ? 200 : 401, `${tool.name} at ${name}: ${text}`);
        assert.doesNotMatch(text, notTheirs, `${tool.name} at ${name}`);
        if (status === 200) assert.equal(result.isError ?? false, tool.endpoint.method !== 'GET' || 'id' in args, text);
      }
    }
    assert.deepEqual(await dump(server), before);
  });
}

test('records of another business are not found by any tool [G4] [P8]', async () => {
  const before = await dump(server);
  const { token } = TOKENS['a token for /mcp'] ?? {};
  for (const tool of TOOLS.filter(({ endpoint }) => endpoint.params)) {
    const change = tool.endpoint.method === 'PATCH' ? { notes: 'Ours now' } : {};
    const args = { ...argumentsOf(tool, 'other'), ...change };
    const { result } = await callTool({ url: server.api + URLS.any, token }, tool.name, args);
    assert.equal(JSON.parse(result.content[0].text).reason, 'not_found', tool.name);
  }
  for (const { name, fields, scopes } of RESOURCES) {
    if (!scopes.write) continue;
    for (const [field, { references }] of Object.entries(fields).filter(([, each]) => each.references)) {
      const foreign = ids.other.get(findResource(references ?? '').path);
      const { result } = await callTool({ url: server.api + URLS.any, token }, `create_${name}`, { [field]: foreign });
      assert.equal(JSON.parse(result.content[0].text).reason, 'fields_invalid', `${name}.${field}`);
    }
  }
  assert.deepEqual(await dump(server), before);
});

test('a token of the MCP server does not work at the business API [G2]', async () => {
  for (const name of ['a token for /mcp', 'a token for the address of the business']) {
    const headers = { authorization: `Bearer ${TOKENS[name]?.token}`, 'x-business-id': acme.id };
    for (const { method, path } of listEndpoints(true)) {
      const response = await fetch(server.api + path.replace(':id', acme.id), { method, headers });
      assert.equal(response.status, 401, `${method} ${path}`);
      assert.equal(((await response.json()) as { reason: string }).reason, 'token_for_other_resource');
    }
  }
});

for (const revision of REVISIONS) {
  test(`a tool without its scope is a 403 of revision ${revision} that names the scope [G4]`, async () => {
    const before = await dump(server);
    for (const scope of SCOPES) {
      const token = await connectTo(server, URLS.any, { scopes: [scope] });
      for (const tool of TOOLS) {
        const caller = { url: server.api + URLS.any, token, revision };
        const { status, headers, body } = await callTool(caller, tool.name, { nonsense: 'so that nothing is written' });
        const needed = tool.endpoint.scope;
        const isAllowed = needed === null || needed === scope;
        assert.equal(status, isAllowed ? 200 : 403, `${tool.name} with ${scope}`);
        if (isAllowed) continue;
        const challenge = headers.get('www-authenticate') ?? '';
        assert.equal(body.reason, 'insufficient_scope');
        assert.match(challenge, /error="insufficient_scope"/);
        assert.match(challenge, new RegExp(`scope="${needed}"`));
      }
    }
    assert.deepEqual(withoutGrants(await dump(server)), withoutGrants(before));
  });
}

/** Connecting writes these. */
function withoutGrants(rows: string[]): string[] {
  return rows.filter((row) => !/^(apps|app_secrets|grants|consents|events|audit_entries|sessions|notices)\b/.test(row));
}
