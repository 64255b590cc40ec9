// `npx node bench/measure/happenings.ts [--apps 3000] [--records 40000] [--rounds 5] [DATABASE_URL]`: what connected apps cost those who
// write. By turns, imports without and with one connected app, and single writes with one and with many: the medians and their ratio.
// Uses a temporary SQLite file unless a PostgreSQL database is named, which must be empty.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Business } from '../../src/accounts/businesses.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { importRecords } from '../../src/business/import/import.ts';
import { importableColumns } from '../../src/business/import/values.ts';
import { readRecords } from '../../src/business/record-files.ts';
import { hasHappenings } from '../../src/events/happenings.ts';
import { contacts } from '../../src/resources/contacts.ts';
import { connectApps } from '../../test/support/connected-apps.ts';
import { quantile } from '../statistics.ts';
import { startBystander } from './stops-bystander.ts';
import { startStoppedServer } from './stops-server.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    apps: { type: 'string', default: '3000' },
    records: { type: 'string', default: '40000' },
    rounds: { type: 'string', default: '5' },
  },
});
const [APPS, ROUNDS] = [Number(values.apps), Number(values.rounds)];
const WRITES = 20;

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-happenings-'));
const server = await startStoppedServer(positionals[0] ?? `sqlite:${join(folder, 'gatehouse.db')}`);
const { storage, addApp, addBusiness, addUser } = server;
const db = storage.durable;

/** A business whose owner has connected so many apps, and one that writes. */
async function newBusiness(name: string, count: number) {
  const business = await addBusiness(name);
  const owner = await addUser(name.replaceAll(' ', ''), [[business, 'owner']]);
  await connectApps(storage, { businessId: business.id, userId: owner.id, count }, Date.now());
  const app = await addApp({ ownerBusinessId: business.id, scopes: ['write:contacts'] });
  return { business, owner, app };
}

const text = Array.from({ length: Number(values.records) }, (_, index) =>
  JSON.stringify({ name: `Contact ${index}`, email: `c${index}@example.com`, jobTitle: 'Head of purchasing' }),
).join('\n');

async function importAll({ business }: { business: Business }): Promise<number> {
  const open = () => readRecords(Readable.from([text]), 'jsonl', importableColumns(contacts));
  const job = { business, resource: contacts, isDryRun: false, open, onProgress: () => {} };
  const startedAt = performance.now();
  const { problems } = await importRecords(OPERATOR, db, job, Date.now);
  if (problems.length > 0) throw new Error(JSON.stringify(problems[0]));
  return performance.now() - startedAt;
}

/** Until the server has spread all happenings. */
async function settle(): Promise<void> {
  while (await hasHappenings(db)) await setTimeout(100);
}

async function compare(what: string, sides: [string, () => Promise<number>][]): Promise<void> {
  const times = sides.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, [, run]] of sides.entries()) {
      times[index]?.push(await run());
      await settle();
    }
  }
  const medians = times.map((each) => quantile(each, 0.5));
  const ratios = (times[0] ?? []).map((time, index) => (times[1]?.[index] ?? 0) / time);
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2));
  const sentence = sides.map(([side], index) => `${medians[index]?.toFixed(1)} ms ${side}`).join(', ');
  console.log(
    `${what}: ${sentence}; ratio ${((medians[1] ?? 0) / (medians[0] ?? 1)).toFixed(2)} (pairs ${low} to ${high})`,
  );
}

const [none, one, many] = [await newBusiness('None', 0), await newBusiness('One', 1), await newBusiness('Many', APPS)];
await compare(`an import of ${values.records} records`, [
  ['with no app', () => importAll(none)],
  ['with one', () => importAll(one)],
]);

const bystander = await startBystander(server);
bystander.stop();
const sides = await Promise.all(
  [one, many].map(async ({ business, owner, app }) => {
    const write = await bystander.createWriter(owner, app, business.id);
    return async () => {
      const times: number[] = [];
      for (let count = 0; count < WRITES; count++) times.push(await write());
      return quantile(times, 0.5);
    };
  }),
);
const [withOne, withMany] = sides as [() => Promise<number>, () => Promise<number>];
await compare('a write', [
  ['with one app', withOne],
  [`with ${APPS}`, withMany],
]);

await server.stop();
rmSync(folder, { recursive: true, force: true });
