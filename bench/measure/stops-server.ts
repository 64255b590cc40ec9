import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { insertSession } from '../../src/accounts/sessions.ts';
import type { User } from '../../src/accounts/users.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { type Browser, createBrowser } from '../../test/support/browser.ts';
import { createClient, type Tokens } from '../../test/support/client.ts';
import { createFixtures, type RegisteredApp } from '../../test/support/fixtures.ts';
import { freePort } from '../../test/support/ports.ts';
import { isReady } from '../../test/support/ready.ts';

const MANY = '1000000000';

export type StoppedServer = Awaited<ReturnType<typeof startStoppedServer>>;

/** The real `serve` in its own process, on a database that this process can change, too. No request meets a limit. */
export async function startStoppedServer(databaseUrl: string) {
  const ports = { api: await freePort(), web: await freePort() };
  const [api, web] = [`http://127.0.0.1:${ports.api}`, `http://localhost:${ports.web}`];
  const storage = await openStorage(databaseUrl, 'migrating');
  await migrate(storage);
  const env = {
    BASE_URL: api,
    CONSENT_URL: web,
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: 'the-key-that-the-measuring-signs-with-only',
    LOG_LEVEL: 'error',
    LIMIT_PER_APP: MANY,
    LIMIT_PER_GRANT: MANY,
    LIMIT_PER_USER: MANY,
    LIMIT_CHANGES_PER_USER: MANY,
    LIMIT_SIGN_IN_PER_ADDRESS: MANY,
  };
  const child = spawn(process.execPath, ['src/cli/main.js', 'serve'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  process.once('exit', () => child.kill('SIGKILL'));
  while (!(await isReady(`${api}/readyz`))) await new Promise((resolve) => setTimeout(resolve, 50));
  const fixtures = await createFixtures(() => storage, Date.now);
  const signedIn = async (user: User): Promise<Browser> => {
    const browser = createBrowser(web, [api, web]);
    const { id } = await insertSession(storage.durable, { user, browser: '', address: '127.0.0.1' }, Date.now());
    browser.cookies.set('__Host-session', id);
    return browser;
  };
  return {
    ...fixtures,
    api,
    web,
    storage,
    /** The tokens of a new grant. */
    async connect(user: User, app: RegisteredApp, scope: string): Promise<Tokens> {
      const client = createClient({
        api,
        browse: () => createBrowser(web, [api, web]),
        user,
        app,
        business: fixtures.acme,
      });
      return client.connect({ scope }, await signedIn(user));
    },
    /** Submits a form. Returns the status, and how long it took in milliseconds. */
    async submit(user: User | undefined, path: string, fields: [string, string][] = []) {
      const browser = user ? await signedIn(user) : createBrowser(web, [api, web]);
      const csrf = user
        ? await browser.csrf()
        : /name="csrf" value="([^"]+)"/.exec((await browser.open(path)).text)?.[1];
      const body = new URLSearchParams([['csrf', csrf ?? ''], ...fields]);
      const startedAt = performance.now();
      const { status } = await browser.fetch(path, { method: 'POST', body });
      return { status, took: performance.now() - startedAt };
    },
    async stop(): Promise<void> {
      await storage.close();
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
