import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { insertSession } from '../../src/accounts/sessions.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createBrowser } from '../../test/support/browser.ts';
import { createClient, type Tokens } from '../../test/support/client.ts';
import { createFixtures } from '../../test/support/fixtures.ts';
import { freePort } from '../../test/support/ports.ts';
import { isReady } from '../../test/support/ready.ts';

export type MeasuredServer = Awaited<ReturnType<typeof startMeasuredServer>>;

/** The real `serve` on SQLite, in its own process, with this number of grants. */
export async function startMeasuredServer(grants: number) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-overload-'));
  const ports = { api: await freePort(), web: await freePort() };
  const [api, web] = [`http://127.0.0.1:${ports.api}`, `http://localhost:${ports.web}`];
  const databaseUrl = `sqlite:${join(folder, 'gatehouse.db')}`;
  const env = {
    BASE_URL: api,
    CONSENT_URL: web,
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: 'the-key-that-the-measuring-signs-with-only',
    // No request is rejected by a rate limit.
    LIMIT_PER_APP: '1000000000',
    LIMIT_PER_GRANT: '1000000000',
    LIMIT_PER_USER: '1000000000',
    LIMIT_CHANGES_PER_USER: '1000000000',
    LIMIT_SIGN_IN_PER_ADDRESS: '1000000000',
  };
  const child = spawn(process.execPath, ['src/cli/main.js', 'serve'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  process.once('exit', () => child.kill('SIGKILL'));
  while (!(await isReady(`${api}/readyz`))) await new Promise((resolve) => setTimeout(resolve, 50));
  const storage = await openStorage(databaseUrl);
  const fixtures = await createFixtures(() => storage, Date.now);
  for (let index = 0; index < 20; index++) await fixtures.addInvoice(fixtures.acme, { number: `INV-${index}` });
  const client = createClient({
    api,
    browse: () => createBrowser(web, [api, web]),
    user: fixtures.ada,
    app: fixtures.ledger,
    business: fixtures.acme,
    startSession: async (user) => {
      const from = { user, browser: 'A measurement', address: '127.0.0.1' };
      return (await insertSession(storage.durable, from, Date.now())).id;
    },
  });
  const browser = await client.signedIn();
  const tokens: Tokens[] = [];
  for (let i = 0; i < grants; i++) tokens.push(await client.connect({}, browser));
  return {
    api,
    web,
    ports,
    tokens,
    credentials: client.credentials,
    businessId: fixtures.acme.id,
    browse: () => createBrowser(web, [api, web]),
    /** In megabytes. */
    memory: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    async stop(): Promise<void> {
      await storage.close();
      child.kill('SIGTERM');
      await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
