import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { insertSession } from '../../src/accounts/sessions.ts';
import type { User } from '../../src/accounts/users.ts';
import { readSettings, type Settings } from '../../src/config/settings.ts';
import { hasFollowUps, runFollowUp } from '../../src/grants/follow-ups.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { type ServerOverrides, startServer } from '../../src/server.ts';
import { businessPath } from '../../src/web/business-address.ts';
import { createBrowser } from './browser.ts';
import { createClient } from './client.ts';
import { createTestDatabase } from './databases.ts';
import { createFixtures } from './fixtures.ts';
import { spreadAll } from './happenings.ts';
import { recordLeak, rememberSecret } from './leaks.ts';
import { freePort } from './ports.ts';
import { readDatabaseBytes, rememberSigningSecrets } from './secret-scanner.ts';
import { watchShardRules } from './shard-rules.ts';

/** The OpenAPI document is the same, whatever these variables are. */
const UNDESCRIBED = /^(?:LIMIT_\w+|SMTP_URL|MAIL_FROM|TRUST_PROXY|WEBHOOKS_TO_LOOPBACK)$/;

/** The real server on free ports, with a temporary folder and database and a clock that `advanceClock` moves. */
export type TestServer = Awaited<ReturnType<typeof startTestServer>>;

/**
 * Starts with the business Acme, its owner Ada, and the app Ledger, which belongs to Acme and may request
 * `read:invoices`, `write:invoices` and `read:contacts`.
 */
export async function startTestServer(
  env: Record<string, string> = {},
  startsAt = Date.UTC(2030, 0, 1),
  overrides: ServerOverrides = {},
) {
  const testFile = new Error().stack?.match(/[\w/-]+\.test\.ts/)?.[0] ?? 'a test';
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const database = await createTestDatabase(folder);
  const settings = readSettings({
    BASE_URL: `http://127.0.0.1:${await freePort()}`,
    CONSENT_URL: `http://localhost:${await freePort()}`,
    DATABASE_URL: database.url,
    SECRET_KEYS: 'the-key-that-the-tests-sign-their-tokens-with',
    // A full run stores the logs and searches them for secrets afterwards.
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    // Tests send more requests per second than the limits allow a user.
    LIMIT_PER_USER: '1000000',
    LIMIT_CHANGES_PER_USER: '1000000',
    ...env,
  });
  // On a busy machine, tests delay the event loop themselves.
  settings.overload = { ...settings.overload, maxEventLoopDelay: 0 };
  for (const key of settings.secretKeys) rememberSecret('key', key);
  let now = startsAt;
  const clock = () => now;
  const checkShardRules = process.env.TEST_DATABASE_URL ? watchShardRules() : () => {};
  let server = await startServer(settings, clock, overrides);
  after(async () => {
    await rememberSigningSecrets(server.storage, createKeyring(settings.secretKeys));
    const stored = await readDatabaseBytes(server.storage, folder);
    await server.close();
    // The test runner keeps this function until the process ends. It must not keep the server.
    server = undefined as never;
    await database.remove();
    rmSync(folder, { recursive: true, force: true });
    for (const bytes of stored) recordLeak(`a database of ${testFile}`, bytes);
    checkShardRules();
  });

  const fixtures = await createFixtures(() => server.storage, clock);
  const browse = (headers?: Record<string, string>) =>
    createBrowser(settings.consentUrl, [settings.baseUrl, settings.consentUrl], headers);
  const startSessionOf = async (user: User) => {
    const from = { user, browser: 'A test', address: '127.0.0.1' };
    const { id } = await insertSession(server.storage.durable, from, clock());
    rememberSecret('cookie session', id);
    return id;
  };
  let isRestarted = false;
  const described = Object.entries(env).filter(([name]) => !UNDESCRIBED.test(name));
  const variables = () => (isRestarted ? undefined : JSON.stringify(described));
  const restart = async ({ settings: changes = {}, meanwhile = async () => {} }: Restart = {}) => {
    isRestarted = true;
    await server.close();
    await meanwhile();
    server = await startServer({ ...settings, ...changes }, clock, overrides);
  };
  const defaults = { user: fixtures.ada, app: fixtures.ledger, business: fixtures.acme };
  return {
    ...fixtures,
    ...createClient({ api: settings.baseUrl, browse, ...defaults, startSession: startSessionOf, variables }),
    variables,
    startSession: startSessionOf,
    settings,
    folder,
    browse,
    clock,
    api: settings.baseUrl,
    web: settings.consentUrl,
    storage: () => server.storage,
    /** The address of a page about Acme, such as `members`. */
    acmePath: (page: string) => businessPath({ businessId: fixtures.acme.id }, page),
    routes: server.routes,
    advanceClock(milliseconds: number) {
      now += milliseconds;
    },
    /** Afterwards, everything that has happened is an event of each app that may read it. */
    spreadHappenings: () => spreadAll({ storage: server.storage, clock }),
    database,
    restart,
    /** What follows a stop, such as events. The server does it at most half a second later. */
    async finishFollowUps() {
      const { durable } = server.storage;
      while (await hasFollowUps(durable)) await runFollowUp(durable, clock());
    },
    /** Restarts the server with these apps, and no others, in INTROSPECTION_CLIENTS. */
    async listForIntrospection(...apps: { id: string }[]) {
      settings.introspectionClients = new Set(apps.map(({ id }) => id));
      await restart();
    },
  };
}

interface Restart {
  settings?: Partial<Settings>;
  /** Runs while the server is stopped. */
  meanwhile?: () => Promise<void>;
}
