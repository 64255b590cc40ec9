import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Tokens } from '../support/client.ts';
import { send, type TimedResponse } from './support/api-client.ts';
import { createSqliteServer, type SqliteServer } from './support/sqlite-server.ts';

const PRELOAD = fileURLToPath(new URL('./support/stalled-disk.ts', import.meta.url));

async function serveOnStallingDisk({ serve, folder, addresses }: SqliteServer) {
  const file = join(folder, 'stalled');
  await serve({ preload: PRELOAD, env: { STALL_FILE: file } }).start();
  return {
    stall: () => writeFileSync(file, ''),
    async untilSyncing(): Promise<void> {
      while (readFileSync(file, 'utf8') === '') await setTimeout(5);
    },
    async resume(): Promise<void> {
      rmSync(file);
      while ((await send(`${addresses.api}/readyz`))?.status !== 200) await setTimeout(20);
    },
  };
}

const statuses = (responses: (TimedResponse | undefined)[]) => responses.map((response) => response?.status);

function assertUnavailable(responses: (TimedResponse | undefined)[]): void {
  for (const response of responses) {
    assert.equal(response?.status, 503, JSON.stringify(response));
    assert.ok(Number(response.retryAfter) > 0);
  }
}

test('while the disk confirms no flush, every response that waits for it is a 503, and nothing unconfirmed is reported [T29][R5]', {
  timeout: 300_000,
}, async () => {
  const server = await createSqliteServer();
  const { apiClient, business, addresses } = server;
  const disk = await serveOnStallingDisk(server);
  const [revoked, used, refreshed] = (await server.connect(3)) as [Tokens, Tokens, Tokens];
  const readPage = () => send(`${addresses.web}/sign-in`);
  const readyz = () => send(`${addresses.api}/readyz`);

  disk.stall();
  const revoking = apiClient.revoke(revoked.refresh_token);
  // From here on, other responses also wait for the sync.
  await disk.untilSyncing();
  const alive = [await send(`${addresses.api}/healthz`)];
  const first = await Promise.all([
    revoking,
    apiClient.use(revoked.access_token),
    apiClient.use(used.access_token),
    apiClient.use('unknown'),
    apiClient.refresh(business.app, refreshed.refresh_token),
    readPage(),
    readyz(),
  ]);
  const later = [
    await apiClient.revoke(used.refresh_token),
    await apiClient.use(used.access_token),
    await apiClient.refresh(business.app, refreshed.refresh_token),
    await readPage(),
    await readyz(),
  ];
  alive.push(await send(`${addresses.api}/healthz`));
  await disk.resume();

  assertUnavailable([...first, ...later]);
  assert.deepEqual(statuses(alive), [200, 200]);
  const afterwards = [
    await apiClient.revoke(revoked.refresh_token),
    await apiClient.use(revoked.access_token),
    await apiClient.use(used.access_token),
    await apiClient.refresh(business.app, refreshed.refresh_token),
    await readPage(),
  ];
  assert.deepEqual(statuses(afterwards), [200, 401, 200, 200, 200]);
});

test('after each of several stalls of the disk the server recovers', { timeout: 300_000 }, async () => {
  const server = await createSqliteServer();
  const disk = await serveOnStallingDisk(server);
  const pairs = await server.connect(2);

  for (const { access_token, refresh_token } of pairs) {
    disk.stall();
    assertUnavailable([await server.apiClient.revoke(access_token)]);
    await disk.resume();
    assert.equal((await server.apiClient.revoke(refresh_token))?.status, 200);
    assert.equal((await server.apiClient.use(access_token))?.status, 401);
  }
});
