import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createKeyring } from '../../src/lib/keyring.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createBrowser } from './browser.ts';
import { createClient } from './client.ts';
import { withLongConnectTimeout } from './databases.ts';
import { createFixtures } from './fixtures.ts';
import { recordOutput, rememberSecret } from './leaks.ts';
import { freePort } from './ports.ts';
import { PROGRAM } from './program.ts';

const KEY = 'the-key-that-all-of-these-workers-sign-with';

export type Workers = Awaited<ReturnType<typeof startWorkers>>;

/** Starts the real `serve --workers`, and reads its log. */
export async function startWorkers(count: number | 'auto', databaseUrl: string, env: Record<string, string> = {}) {
  const [api, web] = [`http://127.0.0.1:${await freePort()}`, `http://localhost:${await freePort()}`];
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--workers', String(count)], {
    env: {
      BASE_URL: api,
      CONSENT_URL: web,
      DATABASE_URL: withLongConnectTimeout(databaseUrl),
      SECRET_KEYS: KEY,
      LIMIT_PER_USER: '1000000',
      LIMIT_CHANGES_PER_USER: '1000000',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A new process group, so that a signal can reach all processes, as Ctrl+C does.
    detached: true,
  });
  rememberSecret('key', KEY);
  recordOutput(child);
  const ended = once(child, 'close');
  const group = -(child.pid ?? 0);
  after(() => {
    if (isAnyRunning(group)) process.kill(group, 'SIGKILL');
  });
  const stderrLines: string[] = [];
  createInterface(child.stderr).on('line', (line) => stderrLines.push(line));
  const pids = new Set<number>();
  const responses = new Map<string, number>();
  createInterface(child.stdout).on('line', (line) => {
    const { pid, msg = '', requestId } = JSON.parse(line);
    if (msg.startsWith('Server listening')) pids.add(pid);
    if (requestId) responses.set(requestId, pid);
  });
  while (!stderrLines.some((line) => line.includes('serves'))) {
    if (child.exitCode !== null) throw new Error(`serve ended: ${stderrLines.join('\n')}`);
    await setTimeout(20);
  }
  return {
    api,
    web,
    pid: child.pid ?? 0,
    stderrLines,
    /** All processes that have listened. */
    pids,
    /** The process that handled a request, by request id. */
    responses,
    hasExited: () => !isAnyRunning(group),
    signalAll: (signal: NodeJS.Signals) => process.kill(group, signal),
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    async end(): Promise<number | null> {
      await ended;
      return child.exitCode;
    },
  };
}

/** Whether any process of the group runs. */
function isAnyRunning(group: number): boolean {
  try {
    return process.kill(group, 0);
  } catch {
    return false;
  }
}

/** Fixtures and a client, on the database of the workers. */
export async function createWorkersClient({ api, web }: Workers, databaseUrl: string) {
  const storage = await openStorage(withLongConnectTimeout(databaseUrl));
  after(() => storage.close());
  const fixtures = await createFixtures(() => storage, Date.now);
  const browse = () => createBrowser(web, [api, web]);
  const client = createClient({ api, browse, user: fixtures.ada, app: fixtures.ledger, business: fixtures.acme });
  return { ...fixtures, client, storage, keys: createKeyring([KEY]) };
}
