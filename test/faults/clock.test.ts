import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DAY, HOUR, SECOND } from '../../src/lib/clock.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { openStorage } from '../../src/storage/open.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import type { Tokens } from '../support/client.ts';
import { freePort } from '../support/ports.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { allow } from './support/races.ts';
import { createSqliteServer, type SqliteServer } from './support/sqlite-server.ts';

const KEY = 'the-key-that-the-tests-sign-their-tokens-with';
const PRELOAD = fileURLToPath(new URL('support/moved-clock.ts', import.meta.url));
const WRONG_SECRETS = 5;
/** The server cleans up every five seconds. */
const CLEAN_UP_TIME = 6000;

suite('a clock that is moved', { concurrency: true }, () => {
  for (const [what, shift] of [
    ['an hour forward', HOUR],
    ['an hour back', -HOUR],
  ] as const) {
    test(`${what} and then corrected: revoked tokens stay revoked, nothing fails, and everything continues`, {
      timeout: 300_000,
    }, async () => {
      const server = await createSqliteServer({
        WEBHOOKS_TO_LOOPBACK: 'yes',
        LIMIT_WRONG_SECRETS: String(WRONG_SECRETS),
      });
      const receiver = await startWebhookReceiver();
      await backdateMemberships(server);
      await addEndpoint(server, receiver.url);
      const { moveBy } = await startWithMovableClock(server);
      const { apiClient, business } = server;
      const [kept, revoked, half] = (await server.connect(3)) as [Tokens, Tokens, Tokens];
      const code = await allow({ apiClient, app: business.app }, business.owner);
      await apiClient.revoke(revoked.refresh_token);
      await apiClient.revoke(half.access_token);
      // Four created grants and one revoked. Pending deliveries would wait until the clock is corrected.
      await receiver.waitFor(5);
      const statuses = async () => [
        (await apiClient.use(revoked.access_token))?.status,
        (await apiClient.refresh(business.app, revoked.refresh_token))?.status,
        (await apiClient.use(half.access_token))?.status,
      ];

      await moveBy(shift);
      await setTimeout(CLEAN_UP_TIME);
      const during = await statuses();
      const used = await apiClient.use(kept.access_token);
      const refreshed = await apiClient.refresh(business.app, kept.refresh_token);
      const exchanged = await apiClient.exchange(business.app, code);
      const [newcomer] = (await server.connect(1)) as [Tokens];
      const page = await business.owner.browser.open('/settings/connected-apps');
      const delivered = (await receiver.waitFor(6)).length;
      await moveBy(0);
      const afterwards = await statuses();
      const renewed = await apiClient.refresh(business.app, newcomer.refresh_token);
      const usedAgain = await apiClient.use(renewed?.body.access_token);
      const next = await apiClient.refresh(business.app, refreshed?.body.refresh_token);
      const retried = await apiClient.refresh(business.app, refreshed?.body.refresh_token);
      const ended = await apiClient.revoke(renewed?.body.refresh_token);

      assert.deepEqual([during, afterwards], Array(2).fill([401, 400, 401]));
      // Earlier tokens and codes expire when the clock moves forward, and stay valid when it moves back.
      assert.deepEqual([used?.status, exchanged?.status], shift > 0 ? [401, 400] : [200, 200]);
      assert.deepEqual(
        [refreshed?.status, page.status, usedAgain?.status, next?.status, ended?.status],
        Array(5).fill(200),
      );
      assert.deepEqual(retried?.body.refresh_token, next?.body.refresh_token, 'a retry gives the same pair');
      assert.equal((await apiClient.use(renewed?.body.access_token))?.status, 401);
      await receiver.waitFor(delivered + 1);
      await assertLimited(server);
    });
  }

  for (const days of [2, 40]) {
    test(`${days} days ahead and then corrected: grants and sessions are kept, and revoked tokens stay revoked [X7]`, {
      timeout: 300_000,
    }, async () => {
      const metrics = `127.0.0.1:${await freePort()}`;
      const server = await createSqliteServer({ METRICS_LISTEN: metrics });
      const { moveBy } = await startWithMovableClock(server);
      const { apiClient, business } = server;
      const [kept, half, revoked] = (await server.connect(3)) as [Tokens, Tokens, Tokens];
      await apiClient.revoke(half.access_token);
      await apiClient.revoke(revoked.refresh_token);

      await moveBy(days * DAY);
      await waitForCleanUp(metrics, Date.now() + (days - 1) * DAY);
      const ready = await fetch(`${server.addresses.api}/readyz`);
      await moveBy(0);

      const page = await business.owner.browser.open('/settings/connected-apps');
      assert.deepEqual(
        [
          (await apiClient.use(kept.access_token))?.status,
          (await apiClient.refresh(business.app, kept.refresh_token))?.status,
          (await apiClient.use(half.access_token))?.status,
          (await apiClient.refresh(business.app, revoked.refresh_token))?.status,
        ],
        [200, 200, 401, 400],
      );
      assert.match(new URL(page.url).pathname, /^\/businesses\/[^/]+\/connected-apps$/);
      assert.equal(ready.status, 200);
    });
  }
});

/** Waits until a complete clean-up has run at this time of the server's clock, or later. */
async function waitForCleanUp(metrics: string, time: number): Promise<void> {
  const finished = /^gatehouse_clean_up_finished_timestamp_seconds (\S+)$/m;
  for (;;) {
    const text = await (await fetch(`http://${metrics}/metrics`)).text();
    if (Number(finished.exec(text)?.[1]) * SECOND >= time) return;
    await setTimeout(50);
  }
}

/** Backdates memberships by a day, like the endpoint. A membership must not be newer than its grants. */
async function backdateMemberships({ url }: SqliteServer): Promise<void> {
  const storage = await openStorage(url);
  await storage.durable
    .updateTable('memberships')
    .set({ created_at: Date.now() - DAY })
    .execute();
  await storage.close();
}

async function addEndpoint({ url, business }: SqliteServer, address: string): Promise<void> {
  const storage = await openStorage(url);
  const endpoint = { appId: business.app.id, url: address, eventTypes: ['grant.created', 'grant.revoked'] };
  await insertEndpoint(storage.durable, createKeyring([KEY]), endpoint, Date.now() - DAY);
  await storage.close();
}

async function startWithMovableClock({ serve, folder }: SqliteServer) {
  const file = join(folder, 'shift');
  const serving = serve({ preload: PRELOAD, env: { CLOCK_SHIFT_FILE: file } });
  await serving.start();
  return {
    async moveBy(shift: number): Promise<void> {
      writeFileSync(file, String(shift));
      process.kill(serving.pid(), 'SIGUSR2');
      while (!serving.stderr().endsWith(`moved by ${shift}\n`)) await setTimeout(5);
    },
  };
}

/** The limit on wrong secrets still applies. */
async function assertLimited({ apiClient, business }: SqliteServer): Promise<void> {
  const guess = () => apiClient.introspect({ id: business.app.id, secret: 'wrong' }, 'x');
  const responses = await Promise.all(Array.from({ length: 2 * WRONG_SECRETS }, guess));
  assert.equal(responses.filter((response) => response?.status === 401).length, WRONG_SECRETS);
  assert.equal(responses.filter((response) => response?.status === 429).length, WRONG_SECRETS);
}
