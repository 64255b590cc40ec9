import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Client } from '../support/client.ts';
import { databaseUrl, TEMPLATE } from '../support/databases.ts';
import { startNodes } from '../support/nodes.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';

/** Large enough to be counted in steps. */
const PER_APP = 1000;
const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);
const env = { LIMIT_PER_APP: String(PER_APP), LIMIT_WRONG_SECRETS: '5' };
const { clients, addApp, storage } = await startNodes(3, databaseUrl(postgres.url, TEMPLATE), env);
const at = (turn: number) => clients[turn % clients.length] as Client;

test('wrong secrets are counted together, whichever node they are sent to [T6]', async () => {
  const { id: client_id } = await addApp({ name: 'Guessed' });

  const statuses: number[] = [];
  for (let turn = 0; turn < 9; turn++) {
    statuses.push((await at(turn).introspect('x', { client_id, client_secret: 'wrong' })).status);
  }

  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429, 429, 429]);
});

test('made-up client ids do not add a row each to what the nodes count together', async () => {
  const countRows = async () => (await storage.durable.selectFrom('rate_limits').select('key').execute()).length;
  const before = await countRows();

  for (let turn = 0; turn < 20; turn++) {
    const { status } = await at(turn).introspect('x', { client_id: `made up ${turn}`, client_secret: 'wrong' });
    assert.ok([401, 429].includes(status), String(status));
  }

  assert.ok((await countRows()) - before <= 2);
});

test('a large limit holds across nodes to within one hundredth for each of them', async () => {
  const { id: client_id, secret: client_secret } = await addApp({ name: 'Busy' });

  const statuses: number[] = [];
  const began = performance.now();
  const ask = async (turn: number) => {
    statuses.push((await at(turn).introspect('x', { client_id, client_secret })).status);
  };
  for (let turn = 0; turn < PER_APP + 300; turn += 30) {
    await Promise.all(Array.from({ length: 30 }, (_, i) => ask(turn + i)));
  }

  const allowed = statuses.filter((status) => status === 200).length;
  // On a machine that is too busy to send them all within a minute, the next minute allows more.
  const minutes = 1 + Math.floor((performance.now() - began) / 60_000);
  const slack = (3 * PER_APP) / 100;
  assert.ok(allowed >= PER_APP - slack && allowed <= minutes * (PER_APP + slack), String(allowed));
  assert.deepEqual(new Set([...statuses, 429]), new Set([200, 429]));
});
