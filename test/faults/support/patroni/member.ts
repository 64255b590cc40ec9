import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { openGuide } from '../../../support/guides.ts';
import { freePort } from '../../../support/ports.ts';
import { AS } from '../../../support/postgres-server.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { signalAll, withDescendants } from './processes.ts';
import type { Programs } from './programs.ts';

/** One PostgreSQL server with its Patroni. All connections to it, and its connections to etcd, go through proxies. */
export type Member = Awaited<ReturnType<typeof createMember>>;

const NAMES = ['gatehouse', 'replicator', 'rewinder'] as const;

/** The settings of the guide. */
const CLUSTER = parse(openGuide('run-in-production', ['Failover']).take('Failover', 'yaml'));

interface MemberOptions {
  name: string;
  folder: string;
  etcdPort: number;
  programs: Programs;
}

export async function createMember({ name, folder, etcdPort, programs }: MemberOptions) {
  const home = join(folder, name);
  mkdirSync(home);
  if (AS.uid !== undefined) chownSync(home, AS.uid, AS.gid);
  const [port, restPort] = [await freePort(), await freePort()];
  const proxies = {
    postgres: await startTcpProxy(port),
    rest: await startTcpProxy(restPort),
    etcd: await startTcpProxy(etcdPort),
  };
  const [logFile, configFile] = [join(home, 'patroni.log'), join(home, 'patroni.json')];
  const config = describe({ name, home, port, restPort, proxies, programs });
  writeFileSync(configFile, JSON.stringify(config), { mode: 0o644 });
  let patroni: ChildProcess | undefined;

  const pids = () => withDescendants([patroni?.pid ?? 0, postmasterOf(home)].filter((pid) => pid > 0));
  const member = {
    name,
    port,
    proxies,
    rest: `http://127.0.0.1:${restPort}`,
    log: () => readFileSync(logFile, 'utf8'),
    start() {
      const log = openSync(logFile, 'a');
      const env = { PATH: process.env.PATH, PYTHONPATH: programs.python, LANG: 'C.UTF-8', HOME: home };
      const options = { ...AS, cwd: home, env, detached: true, stdio: ['ignore', log, log] as const };
      patroni = spawn('python3', ['-m', 'patroni', configFile], { ...options, stdio: [...options.stdio] });
    },
    killPatroni: () => signalAll([patroni?.pid ?? 0].filter(Boolean), 'SIGKILL'),
    killPostgres: () => signalAll(withDescendants([postmasterOf(home)]), 'SIGKILL'),
    /** Kills both, as if the machine had failed. SIGSTOP first, so that Patroni cannot restart PostgreSQL. */
    kill() {
      signalAll(pids(), 'SIGSTOP');
      signalAll(pids(), 'SIGKILL');
    },
    freeze: () => signalAll(pids(), 'SIGSTOP'),
    thaw: () => signalAll(pids(), 'SIGCONT'),
  };
  return member;
}

function postmasterOf(home: string): number {
  try {
    return Number(readFileSync(join(home, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
  } catch {
    return 0;
  }
}

interface Description {
  name: string;
  home: string;
  port: number;
  restPort: number;
  proxies: Record<'postgres' | 'rest' | 'etcd', { port: number }>;
  programs: Programs;
}

/** Patroni reads YAML, which includes JSON. */
function describe({ name, home, port, restPort, proxies, programs }: Description) {
  const [superuser, replication, rewind] = NAMES.map((username) => ({ username, password: username }));
  return {
    scope: 'gatehouse',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${proxies.rest.port}` },
    // Otherwise Patroni would read the address of etcd from etcd, and bypass the proxy.
    etcd3: { hosts: [`127.0.0.1:${proxies.etcd.port}`], use_proxies: true },
    bootstrap: { dcs: CLUSTER, initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'no-sync'] },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${proxies.postgres.port}`,
      data_dir: join(home, 'data'),
      bin_dir: programs.postgres,
      pgpass: join(home, 'pgpass'),
      authentication: { superuser, replication, rewind },
      pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256'],
      // A killed process loses no completed writes, and these tests do not cover power cuts.
      parameters: { unix_socket_directories: home, fsync: 'off' },
    },
  };
}
