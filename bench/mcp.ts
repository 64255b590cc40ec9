// `npx node bench/mcp.ts` compares a list of the business API with the same list by a tool of the MCP server, in alternating slices.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { RunningServer } from './contender.ts';
import { startGatehouse } from './contenders/gatehouse.ts';
import { gatehouseRequests, mcpRequests } from './contenders/gatehouse-requests.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';
import { combine, type Peak, runPeak, type Workload } from './load.ts';
import { PINNING, pinMyself } from './process.ts';
import { callScenario } from './scenarios/call.ts';
import { seed } from './seed.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '10' }, connections: { type: 'string', default: '32' } },
});
const [seconds, connections] = [Number(values.seconds), Number(values.connections)];

/** In seconds. */
const SLICE = 0.25;
const WARM_UP = 2;

/** The share of the throughput of the business API that a tool has to reach. */
const TARGET = 0.7;

interface Side {
  title: string;
  work: Workload;
  clients: HttpClient[];
  peaks: Peak[];
}

function sideOf(title: string, running: RunningServer): Side {
  const clients = Array.from({ length: connections }, createHttpClient);
  return { title, work: callScenario.prepare(running, clients), clients, peaks: [] };
}

async function runSlices(sides: Side[], pid: number, seconds: number): Promise<void> {
  for (const side of sides) side.peaks = [];
  for (let slice = 0; slice < seconds / SLICE; slice += 1) {
    for (const side of sides) side.peaks.push(await runPeak(side.work, side.clients, { seconds: SLICE, pid }));
  }
}

pinMyself();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const url = `sqlite:${join(folder, 'gatehouse.db')}`;
const seeded = await seed(url, connections);
const { api, web, ...child } = await startGatehouse(url);
try {
  const sides = [
    sideOf('GET /api/v1/accounting/invoices', { ...child, ...gatehouseRequests(seeded, [api, web]) }),
    sideOf('list_invoices, 2026-07-28', { ...child, ...mcpRequests(seeded, [api, web], '2026-07-28') }),
    sideOf('list_invoices, 2025-11-25', { ...child, ...mcpRequests(seeded, [api, web], '2025-11-25') }),
  ];
  await runSlices(sides, child.pid, WARM_UP);
  await runSlices(sides, child.pid, seconds);
  console.log(`${connections} connections; ${PINNING}.`);
  const [base = Number.NaN] = sides.map(({ peaks }) => combine(peaks).perSecond);
  for (const { title, peaks } of sides) {
    const { perSecond, cpu } = combine(peaks);
    const ratio = perSecond / base;
    console.log(
      `${title.padEnd(32)} ${Math.round(perSecond)} per second, ${Math.round(cpu ?? 0)} µs of CPU each, ${ratio.toFixed(2)} ×`,
    );
    if (ratio < TARGET) process.exitCode = 1;
  }
  for (const client of sides.flatMap(({ clients }) => clients)) client.close();
} finally {
  await child.stop();
  rmSync(folder, { recursive: true, force: true });
}
