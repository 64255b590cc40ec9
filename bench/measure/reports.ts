// `npx node bench/measure/reports.ts [ROWS] [DATABASE_URL]`: how long each report of a business with many invoices and deals takes, and the
// longest time for which it blocks the event loop. Uses a temporary SQLite file unless an empty PostgreSQL database is named.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { insertBusiness } from '../../src/accounts/businesses.ts';
import type { ApiRequest } from '../../src/business/protected-endpoint.ts';
import { reportEndpoints } from '../../src/business/reports/endpoints.ts';
import { pipelineEndpoint } from '../../src/business/reports/pipeline.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createFill, START } from './many-records.ts';

const [rows = '1000000', url] = process.argv.slice(2);
const NOW = Date.UTC(2026, 11, 31);

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-reports-'));
const storage = await openStorage(url ?? `sqlite:${join(folder, 'reports.db')}`, 'migrating');
await migrate(storage);
const db = storage.durable;
const { id: businessId } = await insertBusiness(db, { name: 'Large' }, START);
const fill = createFill(db, url ? 'postgres' : 'sqlite');
console.error(`Filling with ${rows} invoices and deals`);
for (const table of ['invoices', 'deals'] as const) await fill(table, { businessId, count: Number(rows), prefix: 20 });
if (url) await sql.raw('analyze').execute(db);

for (const endpoint of [...reportEndpoints, pipelineEndpoint]) {
  const request = { db, access: { businessId }, query: {}, now: NOW } as unknown as ApiRequest;
  const { longest, total } = await watch(() => endpoint.handle(request));
  console.log(`${endpoint.path}: ${total.toFixed(0)} ms, longest stall ${longest.toFixed(0)} ms`);
}
await storage.close();
rmSync(folder, { recursive: true, force: true });

/** The longest time between two turns of the event loop while `work` runs. */
async function watch(work: () => Promise<unknown>): Promise<{ longest: number; total: number }> {
  const start = performance.now();
  let [longest, before, isDone] = [0, start, false];
  const done = work().finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await setImmediate();
    const now = performance.now();
    longest = Math.max(longest, now - before);
    before = now;
  }
  await done;
  return { longest, total: performance.now() - start };
}
