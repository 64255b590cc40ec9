import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readSettings } from '../../src/config/settings.ts';
import type { MethodsByPath } from '../../src/http/host.ts';
import { startServer } from '../../src/server.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createFixtures } from '../support/fixtures.ts';
import { recordOutput, rememberSecret } from '../support/leaks.ts';
import { freePort } from '../support/ports.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
export const KEY = 'the-key-that-the-fuzzed-product-signs-with';

export type Product = Awaited<ReturnType<typeof startProduct>>;

/** The real `serve` in a child process, as behind a proxy: public https addresses, and plain HTTP listeners. */
export async function startProduct() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-fuzz-'));
  const ports = { api: await freePort(), web: await freePort() };
  const origins = { api: `https://127.0.0.1:${ports.api}`, web: `https://localhost:${ports.web}` };
  const databaseUrl = `sqlite:${join(folder, 'gatehouse.db')}`;
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    cwd: folder,
    env: {
      BASE_URL: origins.api,
      CONSENT_URL: origins.web,
      LISTEN: `127.0.0.1:${ports.api}`,
      CONSENT_LISTEN: `127.0.0.1:${ports.web}`,
      DATABASE_URL: databaseUrl,
      SECRET_KEYS: KEY,
      TRUST_PROXY: '127.0.0.1',
      // Higher limits let requests reach the code behind them.
      LIMIT_SIGN_IN_PER_ACCOUNT: '1000000',
      LIMIT_SIGN_IN_PER_ADDRESS: '1000000',
      LIMIT_WRONG_SECRETS: '1000000',
      LIMIT_PER_USER: '1000000',
      LIMIT_CHANGES_PER_USER: '1000000',
      LIMIT_EXPORTS_PER_USER: '1000000',
    },
  });
  rememberSecret('key', KEY);
  recordOutput(child);
  const ended = once(child, 'close');
  // Ends the child process with this one.
  process.once('exit', () => child.kill('SIGKILL'));
  const errors: string[] = [];
  createInterface(child.stdout).on('line', (line) => {
    if (JSON.parse(line).level >= 50) errors.push(line);
  });
  const stderrLines: string[] = [];
  const ready = new Promise<void>((resolve) => {
    createInterface(child.stderr).on('line', (line) => {
      stderrLines.push(line);
      if (line.includes('serves')) resolve();
    });
  });
  await Promise.race([ready, ended.then(() => Promise.reject(new Error(`serve has ended: ${stderrLines.join(' ')}`)))]);

  const storage = await openStorage(databaseUrl);
  return {
    ports,
    origins,
    databaseUrl,
    storage,
    routes: await listRoutes(folder),
    /** The error lines of the log. */
    errors,
    fixtures: await createFixtures(() => storage, Date.now),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    /** In megabytes. */
    memory: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    async stop(): Promise<number | null> {
      child.kill('SIGTERM');
      await ended;
      await storage.close();
      rmSync(folder, { recursive: true, force: true });
      return child.exitCode;
    },
  };
}

export interface Route {
  host: 'api' | 'web';
  url: string;
  methods: string[];
}

/** The routes that the server reports. */
async function listRoutes(folder: string): Promise<Route[]> {
  const settings = readSettings({
    BASE_URL: `http://127.0.0.1:${await freePort()}`,
    CONSENT_URL: `http://localhost:${await freePort()}`,
    DATABASE_URL: `sqlite:${join(folder, 'routes.db')}`,
    SECRET_KEYS: KEY,
    LOG_LEVEL: 'silent',
  });
  const { routes, close } = await startServer(settings);
  await close();
  const listed = (host: Route['host'], table: MethodsByPath) =>
    [...table].map(([url, methods]): Route => ({ host, url, methods: [...methods] }));
  return [...listed('api', routes.api), ...listed('web', routes.web)];
}
