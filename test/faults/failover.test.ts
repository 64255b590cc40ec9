import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { TEMPLATE } from '../support/databases.ts';
import { freePort } from '../support/ports.ts';
import { createTemplate } from '../support/postgres-server.ts';
import { createBusinesses } from './support/businesses.ts';
import { examinePostgres } from './support/integrity.ts';
import type { Journal } from './support/journal.ts';
import { ENV, killUnderLoad } from './support/kills.ts';
import { type Cluster, startCluster } from './support/patroni/cluster.ts';
import { type ClusterFault, drawFaults, FAULTS } from './support/patroni/faults.ts';
import { areInstalled, installPrograms, whatIsMissing } from './support/patroni/programs.ts';
import { createReport, type FaultResult, hasWrittenSince, longestPause } from './support/patroni/report.ts';
import { watchRevoked } from './support/patroni/watch.ts';
import { createServeProcess, newAddresses } from './support/serve-process.ts';

/** `npm run failover` sets these, and installs Patroni. */
const { TEST_FAILOVERS, TEST_FAILOVER_SECONDS, TEST_FAILOVER_REPORT } = process.env;
const KILLS = Number(TEST_FAILOVERS ?? 2);
const LATEST = performance.now() + 1000 * Number(TEST_FAILOVER_SECONDS ?? 3600);
const FAULTS_HERE = TEST_FAILOVERS ? FAULTS : FAULTS.filter(({ isShort }) => isShort);
const NODES = 2;
const FIRMS = 6;

const missing =
  whatIsMissing() ?? (TEST_FAILOVERS || areInstalled() ? undefined : '`npm run failover` installs Patroni');

test(`${KILLS} faults of PostgreSQL servers under Patroni lose no acknowledged write and revive nothing`, {
  timeout: 300_000 + KILLS * 120_000,
  skip: missing,
}, async (context) => {
  const cluster = await startCluster(await installPrograms());
  await createTemplate(cluster.directUrl(await cluster.leader(), 'postgres'));
  const url = cluster.url(TEMPLATE);
  const { businesses, apis } = await startNodes(url);
  const faults = drawFaults(FAULTS_HERE);
  const results: FaultResult[] = [];
  let rejected = 0;

  const { journal } = await killUnderLoad(context, {
    what: 'Faults',
    kills: KILLS,
    url,
    businesses,
    apis,
    async kill(journal) {
      const stop = watchRevoked(journal, apis);
      const result = await injectFault(cluster, faults.next().value, journal).finally(async () => {
        rejected += await stop();
      });
      results.push(result);
      if (TEST_FAILOVERS) console.log(`${results.length} of ${KILLS}: ${describe(result)}`);
      return { readyAfter: result.pause, times: performance.now() > LATEST ? KILLS : 1 };
    },
    examine: async () => examinePostgres(cluster.directUrl(await cluster.leader(), TEMPLATE)),
  });

  if (TEST_FAILOVER_REPORT)
    writeFileSync(TEST_FAILOVER_REPORT, JSON.stringify(createReport(journal, results, rejected)));
});

/** Nodes whose URL names all PostgreSQL servers. The public address is that of the first node. */
async function startNodes(url: string) {
  const addresses = await newAddresses();
  const businesses = await createBusinesses(url, FIRMS, addresses);
  const nodes = [createServeProcess(addresses, url, { env: ENV })];
  while (nodes.length < NODES) {
    const [port, webPort] = [String(await freePort()), String(await freePort())];
    const env = { ...ENV, LISTEN: port, CONSENT_LISTEN: webPort };
    nodes.push({ ...createServeProcess(addresses, url, { env }), api: `http://127.0.0.1:${port}` });
  }
  await Promise.all(nodes.map((node) => node.start()));
  return { businesses, apis: nodes.map(({ api }) => api) };
}

/** Injects a fault, and waits until all servers work again and a write was acknowledged. */
async function injectFault(cluster: Cluster, { what, inject }: ClusterFault, journal: Journal): Promise<FaultResult> {
  const leader = await cluster.leader();
  const began = Date.now();
  await inject(cluster, leader);
  await cluster.untilWhole();
  const whole = Date.now();
  while (!hasWrittenSince(journal, whole) && journal.wrong.length === 0) await setTimeout(50);
  const { name: to } = await cluster.leader();
  return { fault: what, from: leader.name, to, pause: longestPause(journal, began) };
}

function describe({ fault, from, to, pause }: FaultResult): string {
  const primary = from === to ? `${from} stays the primary` : `the primary is ${to} instead of ${from}`;
  return `${fault}: ${primary}; no writes for ${(pause / 1000).toFixed(1)} s`;
}
