import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Tokens } from '../support/client.ts';
import { send, type TimedResponse } from './support/api-client.ts';
import { canRun, createSqliteServer, type SqliteServer } from './support/sqlite-server.ts';

const TIMEOUT = { timeout: 300_000 };

const statuses = (responses: (TimedResponse | undefined)[]) => responses.map((response) => response?.status);

/** Root ignores file modes, unless it drops the capability. */
const WITHOUT_ROOT_RIGHTS =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'] : [];
const RESPECTS_FILE_MODES =
  WITHOUT_ROOT_RIGHTS.length === 0 || canRun(WITHOUT_ROOT_RIGHTS[0] as string, ...WITHOUT_ROOT_RIGHTS.slice(1), 'true');

// These run concurrently, since they mostly wait.
suite('the database file', { concurrency: 3 }, () => {
  test(
    'while another process locks the file, writes fail with 503 in time and reads continue, and afterwards everything works [T29][R5]',
    TIMEOUT,
    async () => {
      const { serve, file, apiClient, business, connect } = await createSqliteServer();
      await serve().start();
      const pairs = await connect(8);
      // The server may be storing something of its own.
      const other = new DatabaseSync(file, { timeout: 60_000 });
      other.exec('begin immediate');

      const writes = await Promise.all(
        pairs.map(({ refresh_token }) => apiClient.refresh(business.app, refresh_token)),
      );
      const later: (TimedResponse | undefined)[] = [];
      for (const { access_token } of pairs) later.push(await apiClient.revoke(access_token));
      const reads = await Promise.all(pairs.map(({ access_token }) => apiClient.use(access_token)));
      other.exec('rollback');
      other.close();
      const afterwards = await Promise.all(
        pairs.map(({ refresh_token }) => apiClient.refresh(business.app, refresh_token)),
      );

      assert.deepEqual(new Set(statuses([...writes, ...later])), new Set([503]));
      const times = (responses: typeof later) =>
        responses.map((response) => (response ? response.ended - response.began : 0));
      const isFaster = Math.min(...times(later)) < Math.max(...times(writes));
      assert.ok(isFaster, 'a later writer does not wait for the lock again');
      assert.deepEqual(new Set(statuses(reads)), new Set([200]));
      assert.deepEqual(new Set(statuses(afterwards)), new Set([200]));
    },
  );

  test('serve rejects an unusable file with one sentence that names it, and leaves it unchanged', TIMEOUT, async () => {
    const { serve, file } = await createSqliteServer();
    const whole = `${file}.whole`;
    copyFileSync(file, whole);
    const size = statSync(file).size;

    for (const [what, damage, expected] of DAMAGES) {
      const restore = damage(file, size) ?? (() => {});
      const before = statSync(file).size;
      const { code, stderr } = await serve().expectRejection();
      restore();

      assert.equal(code, 1, `${what}: ${stderr}`);
      assert.match(stderr, expected, what);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
      assert.equal(statSync(file).size, before, what);
      for (const ending of ['-wal', '-shm']) rmSync(file + ending, { force: true });
      copyFileSync(whole, file);
    }
  });

  for (const [what, damage] of [
    // Most pages belong to tables that these requests do not read.
    ['cut short', (file: string) => truncateSync(file, Math.floor(statSync(file).size / 8))],
    ['overwritten', (file: string) => writeFileSync(file, Buffer.alloc(statSync(file).size, 'junk'), { flag: 'r+' })],
  ] as const) {
    test(`while the file is ${what}, every response is right or a 503`, TIMEOUT, async () => {
      const { serve, file, apiClient, business, connect } = await createSqliteServer();
      await serve().start();
      const [kept, revoked, spare] = (await connect(3)) as [Tokens, Tokens, Tokens];
      await apiClient.revoke(revoked.refresh_token);
      truncateWal(file);

      damage(file);
      const right: [TimedResponse | undefined, number][] = [];
      for (let i = 0; i < 3; i++) {
        right.push([await apiClient.use(kept.access_token), 200], [await apiClient.use(revoked.access_token), 401]);
        right.push([await apiClient.refresh(business.app, revoked.refresh_token), 400]);
        right.push([await apiClient.refresh(business.app, spare.refresh_token), 200]);
      }
      const page = await business.owner.browser.open('/settings/account');

      for (const [response, expected] of right)
        assert.ok([expected, 503].includes(response?.status ?? 0), JSON.stringify(response));
      assert.ok([200, 503].includes(page.status), String(page.status));
      assert.ok([page.status, ...right.map(([response]) => response?.status)].includes(503), 'the damage was detected');
    });
  }

  test('on a read-only file, reads succeed and writes are a 503', {
    ...TIMEOUT,
    skip: !RESPECTS_FILE_MODES && 'root ignores file modes, and setpriv is missing',
  }, async () => {
    const { serve, file, apiClient, business, connect } = await createSqliteServer();
    const writable = serve();
    await writable.start();
    const [pair] = (await connect(1)) as [Tokens];
    await writable.stop();
    chmodSync(file, 0o444);
    const serving = serve({ before: WITHOUT_ROOT_RIGHTS });

    await serving.start();
    const read = await apiClient.use(pair.access_token);
    const written = [
      await apiClient.refresh(business.app, pair.refresh_token),
      await apiClient.revoke(pair.refresh_token),
    ];
    await serving.kill();
    chmodSync(file, 0o600);
    await writable.start();

    assert.deepEqual([read?.status, ...statuses(written)], [200, 503, 503]);
    assert.equal((await apiClient.refresh(business.app, pair.refresh_token))?.status, 200);
  });

  test(
    'once the disk is full, writes are a 503, reads continue, and no acknowledged write is lost',
    TIMEOUT,
    async () => {
      const server = await createSqliteServer();
      const serving = server.serve({ before: WITH_SMALL_FILES });
      await serving.start();

      const acknowledged = await fillDisk(server);
      await serving.kill();
      await server.serve().start();

      await assertNothingLost(server, acknowledged);
    },
  );

  test('once the disk is full, no response reports a revocation that could not be stored [R5]', TIMEOUT, async () => {
    const server = await createSqliteServer();
    const unlimited = server.serve();
    await unlimited.start();
    const [spare, ...pairs] = (await server.connect(9)) as [Tokens, ...Tokens[]];
    await unlimited.stop();
    const serving = server.serve({ before: WITH_SMALL_FILES });
    await serving.start();
    await refreshUntilFull(server, spare);
    const [revoked, introspected]: [(TimedResponse | undefined)[], (TimedResponse | undefined)[]] = [[], []];

    for (let round = 0; round < 4; round++) {
      // The server handles requests that arrive while it is stopped in one iteration of its event loop.
      process.kill(serving.pid(), 'SIGSTOP');
      const revoking = pairs.map(({ refresh_token }) => server.apiClient.revoke(refresh_token));
      const requests = pairs.flatMap(({ access_token }) =>
        Array.from({ length: 40 }, () => server.apiClient.introspect(server.business.app, access_token)),
      );
      await setTimeout(100);
      process.kill(serving.pid(), 'SIGCONT');
      revoked.push(...(await Promise.all(revoking)));
      introspected.push(...(await Promise.all(requests)));
    }

    assert.deepEqual(new Set(statuses(revoked)), new Set([503]));
    // A busy machine may reject some of them with 503.
    const succeeded = introspected.filter((response) => response?.status === 200);
    assert.deepEqual(new Set(succeeded.map((response) => response?.body.active)), new Set([true]));
  });

  const mayMount = canRun('unshare', '-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt');
  test('on a small disk that is full, the same is true; when there is space again, the server recovers automatically', {
    ...TIMEOUT,
    skip:
      !mayMount &&
      'this machine does not allow mounts in a namespace (unshare -rm); the file size limit above covers the same',
  }, async () => {
    const server = await createSqliteServer();
    const serving = server.serve({ before: ['unshare', '-rm', 'sh', '-c', ON_SMALL_DISK, server.folder] });
    await serving.start();

    const acknowledged = await fillDisk(server);
    rmSync(`/proc/${serving.pid()}/root${server.folder}/filler`);

    await assertNothingLost(server, acknowledged);
  });
});

/** Limits the size of files. Ignoring SIGXFSZ makes writes fail instead of ending the process. */
const WITH_SMALL_FILES = ['sh', '-c', 'trap "" XFSZ; ulimit -f 2000; exec "$@"', 'sh'];

/** Mounts a disk of 3 MB over the folder, copies its files there, and adds a filler to remove later. */
const ON_SMALL_DISK = `set -e; cp -a "$0" "$0.copy"; mount -t tmpfs -o size=3m none "$0"; cp -a "$0.copy/." "$0"
dd if=/dev/zero of="$0/filler" bs=64k count=16 2>/dev/null; exec "$@"`;

const DAMAGES: [what: string, damage: (file: string, size: number) => (() => void) | undefined, expected: RegExp][] = [
  ['cut in half', (file, size) => void truncateSync(file, Math.floor(size / 2)), /DATABASE_URL .*malformed/],
  ['emptied', (file) => void truncateSync(file, 0), /DATABASE_URL .*the file is empty/],
  ['junk', (file, size) => void writeFileSync(file, Buffer.alloc(size, 'junk')), /DATABASE_URL .*not a database/],
  ['of another program', (file) => void replaceByForeign(file), /DATABASE_URL .*not Gatehouse's/],
  ['locked forever', (file) => lockExclusively(file), /DATABASE_URL .*locked/],
];

function replaceByForeign(file: string): void {
  rmSync(file);
  const foreign = new DatabaseSync(file);
  foreign.exec('create table users (id integer)');
  foreign.close();
}

function lockExclusively(file: string): () => void {
  const other = new DatabaseSync(file);
  other.exec('pragma locking_mode = exclusive; begin exclusive');
  return () => other.close();
}

/** Checkpoints, so that the server reads only from the file. */
function truncateWal(file: string): void {
  const other = new DatabaseSync(file, { timeout: 5000 });
  other.exec('pragma wal_checkpoint(truncate)');
  other.close();
}

interface Acknowledged {
  live: Tokens;
  revoked: Tokens;
  unrevoked: Tokens;
}

/** Refreshes until the disk is full, and then tries to read, to revoke and the health check. */
async function fillDisk(server: SqliteServer): Promise<Acknowledged> {
  const { apiClient, connect, addresses } = server;
  const [first, revoked, unrevoked] = (await connect(3)) as [Tokens, Tokens, Tokens];
  await apiClient.revoke(revoked.refresh_token);
  const { live, last } = await refreshUntilFull(server, first);
  const read = await apiClient.use(live.access_token);
  const rejected = await apiClient.revoke(unrevoked.refresh_token);
  const alive = await send(`${addresses.api}/healthz`);
  assert.deepEqual(statuses([last, read, rejected, alive]), [503, 200, 503, 200]);
  return { live, revoked, unrevoked };
}

async function refreshUntilFull({ apiClient, business }: SqliteServer, first: Tokens) {
  let live = first;
  let last: TimedResponse | undefined;
  // A small write may fail because it shares its commit with a larger one.
  for (let [tries, rejected] = [0, 0]; tries < 5000 && rejected < 5; tries++) {
    last = await apiClient.refresh(business.app, live.refresh_token);
    if (last?.status === 200) live = last.body;
    rejected = last?.status === 503 ? rejected + 1 : 0;
  }
  return { live, last };
}

async function assertNothingLost(
  { apiClient, business }: SqliteServer,
  { live, revoked, unrevoked }: Acknowledged,
): Promise<void> {
  const responses = [
    await apiClient.use(live.access_token),
    await apiClient.refresh(business.app, live.refresh_token),
    await apiClient.use(revoked.access_token),
    await apiClient.refresh(business.app, revoked.refresh_token),
    await apiClient.use(unrevoked.access_token),
    await apiClient.revoke(unrevoked.refresh_token),
    await apiClient.use(unrevoked.access_token),
  ];
  assert.deepEqual(statuses(responses), [200, 200, 401, 400, 200, 200, 401]);
}
