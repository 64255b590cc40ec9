import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { databaseUrl, runAsAdmin, TEMPLATE, withLongConnectTimeout } from '../support/databases.ts';
import { freePort } from '../support/ports.ts';
import { createTemplate, type PostgresServer, startAgain, startPostgres } from '../support/postgres-server.ts';
import { send } from './support/api-client.ts';
import { createBusinesses } from './support/businesses.ts';
import { examinePostgres } from './support/integrity.ts';
import { ENV, killUnderLoad } from './support/kills.ts';
import { concurrency, READY_WITHIN, shareOfKills, timeFor } from './support/progress.ts';
import { createServeProcess, newAddresses, type ServeProcess } from './support/serve-process.ts';

const NODE_KILLS = shareOfKills(18);
const DATABASE_KILLS = shareOfKills(12);
const NODES = 3;
const FIRMS = 4;

/** Three nodes. The public address is that of the first one. */
async function startNodes(url: string) {
  const addresses = await newAddresses();
  const businesses = await createBusinesses(url, FIRMS, addresses);
  const nodes: ServeProcess[] = [createServeProcess(addresses, url, { env: ENV })];
  while (nodes.length < NODES) {
    const [port, webPort] = [String(await freePort()), String(await freePort())];
    const env = { ...ENV, LISTEN: port, CONSENT_LISTEN: webPort };
    nodes.push({ ...createServeProcess(addresses, url, { env }), api: `http://127.0.0.1:${port}` });
  }
  await Promise.all(nodes.map((node) => node.start()));
  return { businesses, nodes, apis: nodes.map(({ api }) => api) };
}

async function newDatabase(name: string): Promise<{ postgres: PostgresServer; url: string }> {
  const postgres = await startPostgres();
  after(() => postgres.remove());
  await createTemplate(postgres.url);
  await runAsAdmin(postgres.url, [`create database ${name} template ${TEMPLATE}`]);
  return { postgres, url: withLongConnectTimeout(databaseUrl(postgres.url, name)) };
}

suite('kill -9 on PostgreSQL', concurrency(1), () => {
  // Two run concurrently, since they mostly wait for processes to start.
  for (const name of ['one_database', 'another_database']) {
    test(`${NODE_KILLS} kills of one of three nodes on ${name.replace('_', ' ')}, under load, lose no acknowledged write and revive nothing [T19]`, {
      timeout: timeFor(NODE_KILLS),
    }, async (context) => {
      const { url } = await newDatabase(name);
      const { businesses, nodes, apis } = await startNodes(url);

      const { median } = await killUnderLoad(context, {
        what: `Kills of one of three nodes on ${name.replace('_', ' ')}`,
        kills: NODE_KILLS,
        url,
        businesses,
        apis,
        async kill() {
          const node = nodes[randomInt(nodes.length)] as ServeProcess;
          await node.kill();
          return { readyAfter: await node.start(), api: node.api };
        },
        examine: () => [],
      });

      assert.deepEqual(await examinePostgres(url), []);
      assert.ok(median < READY_WITHIN, `ready after ${median} ms`);
    });
  }

  test(`${DATABASE_KILLS} kills of PostgreSQL itself lose no acknowledged write and revive nothing [T19]`, {
    timeout: timeFor(DATABASE_KILLS),
  }, async (context) => {
    const { postgres, url } = await newDatabase('the_database_is_killed');
    const { businesses, apis } = await startNodes(url);

    await killUnderLoad(context, {
      what: 'Kills of PostgreSQL',
      kills: DATABASE_KILLS,
      url,
      businesses,
      apis,
      async kill() {
        await postgres.stop('SIGKILL');
        const began = performance.now();
        await startAgain(postgres);
        for (const api of apis) while ((await send(`${api}/readyz`))?.status !== 200) await setTimeout(20);
        return { readyAfter: performance.now() - began };
      },
      examine: () => examinePostgres(url),
    });
  });
});
