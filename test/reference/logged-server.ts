import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ensureMigrated } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createBrowser } from '../support/browser.ts';
import { createClient } from '../support/client.ts';
import { createFixtures } from '../support/fixtures.ts';
import { recordOutput, rememberSecret } from '../support/leaks.ts';
import { freePort } from '../support/ports.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

export interface Line {
  requestId?: string;
  status?: number;
  route?: string;
  method?: string;
  reason?: string;
  app?: string;
  business?: string;
  err?: { type: string; stack: string };
}

export type LoggedServer = Awaited<ReturnType<typeof startLoggedServer>>;

/** The real `serve`, which logs to stdout. */
export async function startLoggedServer() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const storage = await openStorage(`sqlite:${join(folder, 'gatehouse.db')}`);
  await ensureMigrated(storage);
  const fixtures = await createFixtures(() => storage, Date.now);
  const [api, web] = [`http://127.0.0.1:${await freePort()}`, `http://localhost:${await freePort()}`];
  const env = {
    BASE_URL: api,
    CONSENT_URL: web,
    DATABASE_URL: `sqlite:${join(folder, 'gatehouse.db')}`,
    SECRET_KEYS: 'the-key-that-this-one-server-signs-with',
    LOG_LEVEL: 'info',
  };
  const child = spawn(process.execPath, [MAIN, 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  rememberSecret('key', env.SECRET_KEYS);
  recordOutput(child);
  const log = keepLog(child, api);
  after(async () => {
    if (child.kill('SIGKILL')) await once(child, 'close');
    await storage.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await untilServing(child);
  const browse = () => createBrowser(web, [api, web]);
  const client = createClient({ api, browse, user: fixtures.ada, app: fixtures.ledger, business: fixtures.acme });
  return { ...fixtures, ...client, ...log, api, web, browse, storage };
}

function keepLog(child: ChildProcess, api: string) {
  const texts: string[] = [];
  const reader = createInterface({ input: child.stdout as NonNullable<ChildProcess['stdout']> });
  reader.on('line', (text) => texts.push(text));
  const linesOf = (requestId: string) =>
    texts.map((text): Line => JSON.parse(text)).filter((line) => line.requestId === requestId);

  /** A line is written after its response. The line of a later request shows that all earlier lines are complete. */
  async function catchUp(): Promise<void> {
    const response = await fetch(`${api}/none`);
    await response.text();
    const later = response.headers.get('x-request-id') ?? '';
    while (linesOf(later).length === 0) await once(reader, 'line', { signal: AbortSignal.timeout(60_000) });
  }

  return {
    /** The raw log so far. */
    async readLog(): Promise<string[]> {
      await catchUp();
      return texts;
    },
    async linesAbout(requestId: string): Promise<Line[]> {
      if (linesOf(requestId).length === 0) await catchUp();
      return linesOf(requestId);
    },
  };
}

async function untilServing(child: ChildProcess): Promise<void> {
  let output = '';
  child.stderr?.on('data', (chunk) => {
    output += chunk;
  });
  while (!output.includes('serves')) {
    await Promise.race([once(child.stderr as NonNullable<ChildProcess['stderr']>, 'data'), once(child, 'close')]);
    if (child.exitCode !== null) throw new Error(`serve ended: ${output}`);
  }
}
