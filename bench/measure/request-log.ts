// `npx node bench/measure/request-log.ts`: what the request log costs the business API. Two servers, one with the log and one
// without it, each in its own process on its own SQLite file, list invoices in alternation, so that other load of the machine
// affects both. On a busy machine, CPU time per request is the more stable of the two figures.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSettings } from '../../src/config/settings.ts';
import type { createRequestRecorder } from '../../src/request-log/recorder.ts';
import { startServer } from '../../src/server.ts';
import { createBrowser } from '../../test/support/browser.ts';
import { createClient } from '../../test/support/client.ts';
import { createFixtures } from '../../test/support/fixtures.ts';
import { freePort } from '../../test/support/ports.ts';

const PAIRS = 60;
const PER_ROUND = 1000;
/** Requests before the first round, until V8 has compiled the hot code. */
const WARM_UP = 10_000;
const LOOPS = 16;
const INVOICES = 20;

const noRecorder: typeof createRequestRecorder = () => ({
  record() {},
  async flush() {},
  dropped: () => 0,
  async stop() {},
});

if (process.argv[2] === 'serve') await serve(process.argv[3] === 'logging');
else await measure();

/** Sends its URL to the parent process, with a token that can read invoices. */
async function serve(isLogging: boolean): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-measure-'));
  const settings = readSettings({
    BASE_URL: `http://127.0.0.1:${await freePort()}`,
    CONSENT_URL: `http://localhost:${await freePort()}`,
    DATABASE_URL: `sqlite:${join(folder, 'gatehouse.db')}`,
    SECRET_KEYS: 'the-key-that-the-measuring-signs-with-only',
    LOG_LEVEL: 'error',
    LIMIT_PER_GRANT: '100000000',
  });
  const server = isLogging
    ? await startServer(settings)
    : await startServer(settings, Date.now, { createRecorder: noRecorder });
  const fixtures = await createFixtures(() => server.storage, Date.now);
  for (let index = 0; index < INVOICES; index++) await fixtures.addInvoice(fixtures.acme, { number: `INV-${index}` });
  const { baseUrl: api, consentUrl: web } = settings;
  const browse = () => createBrowser(web, [api, web]);
  const client = createClient({ api, browse, user: fixtures.ada, app: fixtures.ledger, business: fixtures.acme });
  const { access_token } = await client.connect();
  process.on('message', (message) => {
    if (message === 'cpu time') process.send?.(cpuTime());
  });
  process.send?.({ api, token: access_token, business: fixtures.acme.id });
  for (let message = ''; message !== 'stop'; ) [message] = await once(process, 'message');
  const { requests } = await server.storage.durable
    .selectFrom('request_counts')
    .select(({ fn }) => fn.sum<number>('requests').as('requests'))
    .executeTakeFirstOrThrow();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
  process.send?.({ logged: Number(requests ?? 0) });
  process.disconnect?.();
}

/** In microseconds. */
function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

interface Target {
  child: ChildProcess;
  api: string;
  token: string;
  business: string;
}

async function measure(): Promise<void> {
  const [without, logging] = [await start('not logging'), await start('logging')];
  const pairs: { without: Round; logging: Round }[] = [];
  for (const target of [without, logging]) await listInvoices(target, WARM_UP);
  for (let pair = 0; pair < PAIRS; pair++) {
    // Each is first in half of the pairs.
    if (pair % 2 === 0) {
      const first = await measureRound(without);
      pairs.push({ without: first, logging: await measureRound(logging) });
    } else {
      const first = await measureRound(logging);
      pairs.push({ without: await measureRound(without), logging: first });
    }
  }
  const print = (what: string, part: keyof Round) => {
    const [a, b] = [median(pairs.map((pair) => pair.without[part])), median(pairs.map((p) => p.logging[part]))];
    const ratio = median(pairs.map((pair) => pair.logging[part] / pair.without[part]));
    const ratios = `ratio of the medians ${(b / a).toFixed(3)}, median of the ratios ${ratio.toFixed(3)}`;
    console.log(`  ${what}: ${a.toFixed(0)} without, ${b.toFixed(0)} with the request log; ${ratios}`);
  };
  console.log(`Lists of invoices, ${PAIRS} rounds of ${PER_ROUND} over ${LOOPS} connections, in alternation:`);
  print('per second', 'rate');
  print('per second of CPU time', 'ratePerCpu');
  console.log(`  logged: ${await stop(logging)} requests, and ${await stop(without)} without the log`);
}

interface Round {
  rate: number;
  ratePerCpu: number;
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

async function start(how: string): Promise<Target> {
  const child = fork(fileURLToPath(import.meta.url), ['serve', how]);
  const [message] = (await once(child, 'message')) as [Omit<Target, 'child'>];
  return { child, ...message };
}

async function stop({ child }: Target): Promise<number> {
  child.send('stop');
  const [{ logged }] = (await once(child, 'message')) as [{ logged: number }];
  return logged;
}

async function measureRound(target: Target): Promise<Round> {
  const before = await cpuTimeOf(target);
  const began = performance.now();
  await listInvoices(target, PER_ROUND);
  const took = performance.now() - began;
  const used = (await cpuTimeOf(target)) - before;
  return { rate: (PER_ROUND / took) * 1000, ratePerCpu: (PER_ROUND / used) * 1_000_000 };
}

/** In microseconds, since its start. */
async function cpuTimeOf({ child }: Target): Promise<number> {
  child.send('cpu time');
  const [time] = (await once(child, 'message')) as [number];
  return time;
}

async function listInvoices({ api, token, business }: Target, times: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: LOOPS });
  const headers = { authorization: `Bearer ${token}`, 'x-business-id': business };
  let left = times;
  const loop = async () => {
    while (left-- > 0) {
      await new Promise<void>((resolve, reject) => {
        get(`${api}/api/v1/accounting/invoices`, { agent, headers }, (response) => {
          if (response.statusCode !== 200) reject(new Error(`The status is ${response.statusCode}.`));
          response.resume().on('end', resolve);
        }).on('error', reject);
      });
    }
  };
  await Promise.all(Array.from({ length: LOOPS }, loop));
  agent.destroy();
}
