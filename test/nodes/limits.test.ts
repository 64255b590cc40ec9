import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Client } from '../support/client.ts';
import { databaseUrl, TEMPLATE } from '../support/databases.ts';
import { startNodes } from '../support/nodes.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';

/** Large enough that each node counts in steps. */
const PER_APP = 1000;
const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);
const env = { LIMIT_PER_APP: String(PER_APP), LIMIT_WRONG_SECRETS: '5' };
const { clients, addApp, storage } = await startNodes(3, databaseUrl(postgres.url, TEMPLATE), env);
const clientAt = (index: number) => clients[index % clients.length] as Client;

test('wrong secrets are counted together, whichever node they are sent to [T6]', async () => {
  const { id: client_id } = await addApp({ name: 'Guessed' });

  const statuses: number[] = [];
  for (let index = 0; index < 9; index++) {
    statuses.push((await clientAt(index).introspect('x', { client_id, client_secret: 'wrong' })).status);
  }

  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429, 429, 429]);
});

test('unknown client ids do not add a row each to the shared counters', async () => {
  const countRows = async () => (await storage.durable.selectFrom('rate_limits').select('key').execute()).length;
  const before = await countRows();

  for (let index = 0; index < 20; index++) {
    const { status } = await clientAt(index).introspect('x', { client_id: `made up ${index}`, client_secret: 'wrong' });
    assert.ok([401, 429].includes(status), String(status));
  }

  assert.ok((await countRows()) - before <= 2);
});

test('a large limit holds across nodes to within one hundredth for each of them', async () => {
  const { id: client_id, secret: client_secret } = await addApp({ name: 'Busy' });

  const statuses: number[] = [];
  const began = performance.now();
  const send = async (index: number) => {
    statuses.push((await clientAt(index).introspect('x', { client_id, client_secret })).status);
  };
  for (let index = 0; index < PER_APP + 300; index += 30) {
    await Promise.all(Array.from({ length: 30 }, (_, i) => send(index + i)));
  }

  const allowed = statuses.filter((status) => status === 200).length;
  // A slow machine may need more than a minute, and each minute has its own limit.
  const minutes = 1 + Math.floor((performance.now() - began) / 60_000);
  const slack = (3 * PER_APP) / 100;
  assert.ok(allowed >= PER_APP - slack && allowed <= minutes * (PER_APP + slack), String(allowed));
  assert.deepEqual(new Set([...statuses, 429]), new Set([200, 429]));
});
