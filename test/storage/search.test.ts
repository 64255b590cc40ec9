import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contains } from '../../src/storage/search.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
for (const name of ['Élan Ökologie', '100% Cotton', 'Snake_Case', 'Why!', 'Back\\slash'])
  await server.addBusiness(name);

async function search(text: string): Promise<string[]> {
  const found = server
    .storage()
    .durable.selectFrom('businesses')
    .select('name')
    .where(contains(['name'], text));
  return (await found.orderBy('name').execute()).map(({ name }) => name);
}

test('a search finds a part of a name in any language and in any case', async () => {
  assert.deepEqual(await search('éLAN öko'), ['Élan Ökologie']);
  assert.deepEqual(await search('E\u0301lan'), ['Élan Ökologie'], 'however its letters are composed');
});

test('SQL wildcards are searched for literally', async () => {
  for (const [text, name] of [
    ['0%', '100% Cotton'],
    ['e_c', 'Snake_Case'],
    ['y!', 'Why!'],
    ['k\\s', 'Back\\slash'],
  ]) {
    assert.deepEqual(await search(text ?? ''), [name]);
  }
  assert.deepEqual(await search('k%s'), []);
  assert.deepEqual(await search('S_ake'), []);
});
