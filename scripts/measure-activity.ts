// `node scripts/measure-activity.ts`: what it costs the business API that each request is remembered for the people who
// look at it. Two servers, one that remembers and one that does not, each a process of its own on a database of its own
// (SQLite, loopback), are asked for invoices by turns, so that whatever else the machine does falls on both. On a machine
// that is busy with other things, the processor time per request is the steadier of the two figures.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSettings } from '../src/config.ts';
import type { createRequestRecorder } from '../src/request-log/recorder.ts';
import { startServer } from '../src/server.ts';
import { createBrowser } from '../test/support/browser.ts';
import { createClient } from '../test/support/client.ts';
import { createFixtures } from '../test/support/fixtures.ts';
import { freePort } from '../test/support/ports.ts';

const PAIRS = 60;
const PER_ROUND = 1000;
/** Until the code of both is as fast as it gets. */
const BEFOREHAND = 10_000;
const LOOPS = 16;
const INVOICES = 20;

const forgetful: typeof createRequestRecorder = () => ({
  record() {},
  async flush() {},
  dropped: () => 0,
  async stop() {},
});

if (process.argv[2] === 'serve') await serve(process.argv[3] === 'remembering');
else await measure();

/** Tells the parent where it is, and with which token its invoices can be read. */
async function serve(isRemembering: boolean): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-measure-'));
  const settings = readSettings({
    BASE_URL: `http://127.0.0.1:${await freePort()}`,
    CONSENT_URL: `http://localhost:${await freePort()}`,
    DATABASE_URL: `sqlite:${join(folder, 'gatehouse.db')}`,
    SECRET_KEYS: 'the-key-that-the-measuring-signs-with-only',
    LOG_LEVEL: 'error',
    LIMIT_PER_GRANT: '100000000',
  });
  const server = isRemembering
    ? await startServer(settings)
    : await startServer(settings, Date.now, { createRecorder: forgetful });
  const people = await createFixtures(() => server.storage, Date.now);
  for (let place = 0; place < INVOICES; place++) await people.addInvoice(people.acme, { number: `INV-${place}` });
  const { baseUrl: api, consentUrl: web } = settings;
  const browse = () => createBrowser(web, [api, web]);
  const client = createClient({ api, browse, user: people.ada, app: people.ledger, business: people.acme });
  const { access_token } = await client.connect();
  process.on('message', (asked) => {
    if (asked === 'processor time') process.send?.(cpuTime());
  });
  process.send?.({ api, token: access_token, business: people.acme.id });
  for (let asked = ''; asked !== 'stop'; ) [asked] = await once(process, 'message');
  const { requests } = await server.storage.durable
    .selectFrom('request_counts')
    .select(({ fn }) => fn.sum<number>('requests').as('requests'))
    .executeTakeFirstOrThrow();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
  process.send?.({ remembered: Number(requests ?? 0) });
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
  const [without, remembering] = [await start('forgetting'), await start('remembering')];
  const pairs: { without: Round; remembering: Round }[] = [];
  for (const target of [without, remembering]) await ask(target, BEFOREHAND);
  for (let pair = 0; pair < PAIRS; pair++) {
    // Each goes first as often as the other.
    if (pair % 2 === 0) {
      const first = await measureRound(without);
      pairs.push({ without: first, remembering: await measureRound(remembering) });
    } else {
      const first = await measureRound(remembering);
      pairs.push({ without: await measureRound(without), remembering: first });
    }
  }
  const tell = (what: string, part: keyof Round) => {
    const [a, b] = [middle(pairs.map((pair) => pair.without[part])), middle(pairs.map((p) => p.remembering[part]))];
    const ratio = middle(pairs.map((pair) => pair.remembering[part] / pair.without[part]));
    const ratios = `ratio of the medians ${(b / a).toFixed(3)}, median of the ratios ${ratio.toFixed(3)}`;
    console.log(`  ${what}: ${a.toFixed(0)} without, ${b.toFixed(0)} when each is remembered; ${ratios}`);
  };
  console.log(`Lists of invoices, ${PAIRS} rounds of ${PER_ROUND} by ${LOOPS} connections, by turns:`);
  tell('per second', 'rate');
  tell('per second of processor time', 'ratePerProcessor');
  console.log(`  remembered: ${await stop(remembering)} requests, and ${await stop(without)} by the other`);
}

interface Round {
  rate: number;
  ratePerProcessor: number;
}

function middle(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

async function start(how: string): Promise<Target> {
  const child = fork(fileURLToPath(import.meta.url), ['serve', how]);
  const [message] = (await once(child, 'message')) as [Omit<Target, 'child'>];
  return { child, ...message };
}

async function stop({ child }: Target): Promise<number> {
  child.send('stop');
  const [{ remembered }] = (await once(child, 'message')) as [{ remembered: number }];
  return remembered;
}

async function measureRound(target: Target): Promise<Round> {
  const before = await processorTime(target);
  const began = performance.now();
  await ask(target, PER_ROUND);
  const took = performance.now() - began;
  const used = (await processorTime(target)) - before;
  return { rate: (PER_ROUND / took) * 1000, ratePerProcessor: (PER_ROUND / used) * 1_000_000 };
}

/** In microseconds, since its start. */
async function processorTime({ child }: Target): Promise<number> {
  child.send('processor time');
  const [time] = (await once(child, 'message')) as [number];
  return time;
}

async function ask({ api, token, business }: Target, times: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: LOOPS });
  const headers = { authorization: `Bearer ${token}`, 'x-business-id': business };
  let left = times;
  const loop = async () => {
    while (left-- > 0) {
      await new Promise<void>((resolve, reject) => {
        get(`${api}/api/v1/accounting/invoices`, { agent, headers }, (response) => {
          if (response.statusCode !== 200) reject(new Error(`It answered ${response.statusCode}.`));
          response.resume().on('end', resolve);
        }).on('error', reject);
      });
    }
  };
  await Promise.all(Array.from({ length: LOOPS }, loop));
  agent.destroy();
}
