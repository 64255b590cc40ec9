import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../../../support/ports.ts';
import { createMember, type Member } from './member.ts';
import type { Programs } from './programs.ts';

export type Cluster = Awaited<ReturnType<typeof startCluster>>;

const NAMES = ['a', 'b', 'c'];
const POLL_INTERVAL = 100;
const GIVE_UP_AFTER = 120_000;

/** Three PostgreSQL servers under Patroni, and the etcd that they share. */
export async function startCluster(programs: Programs) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-patroni-'));
  chmodSync(folder, 0o755);
  const etcdPort = await startEtcd(programs.etcd, folder);
  const members: Member[] = [];
  for (const name of NAMES) members.push(await createMember({ name, folder, etcdPort, programs }));
  const killAll = () => {
    for (const member of members) member.kill();
  };
  process.once('exit', killAll);
  after(() => {
    killAll();
    process.off('exit', killAll);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  });
  const cluster = {
    members,
    /** All servers, in no particular order. */
    url: (database: string) => urlOf(members, database),
    leader: () => until('a leader', members, () => findLeader(members)),
    /** Resolves with a leader other than this one. */
    leaderAfter: (old: Member) => until(`a leader after ${old.name}`, members, () => findLeader(members, old)),
    standbyOf: (leader: Member) => until('a synchronous standby', members, () => findStandby(members, leader)),
    standbyAfter: (leader: Member, old: Member) =>
      until(`a synchronous standby after ${old.name}`, members, () => findStandby(members, leader, old)),
    /** Resolves once there is a leader that all others follow, one of them synchronously. */
    untilWhole: () => until('three members that work', members, () => isWhole(members)),
    directUrl: (member: Member, database: string) => urlOf([member], database),
  };
  for (const member of members) member.start();
  await cluster.untilWhole();
  return cluster;
}

async function startEtcd(program: string, folder: string): Promise<number> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const [url, peerUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const log = openSync(join(folder, 'etcd.log'), 'a');
  const args = ['--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync', '--logger', 'zap', '--log-level', 'warn'];
  const client = ['--listen-client-urls', url, '--advertise-client-urls', url];
  const peers = ['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl];
  const cluster = ['--initial-cluster', `default=${peerUrl}`];
  const etcd = spawn(program, [...args, ...client, ...peers, ...cluster], { stdio: ['ignore', log, log] });
  process.once('exit', () => etcd.kill('SIGKILL'));
  after(() => etcd.kill('SIGKILL'));
  while (
    !(await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (etcd.exitCode !== null) throw new Error(`etcd ended with ${etcd.exitCode}`);
    await setTimeout(POLL_INTERVAL);
  }
  return port;
}

function urlOf(members: Member[], database: string): string {
  const hosts = members.map(({ proxies }) => `127.0.0.1:${proxies.postgres.port}`);
  return `postgres://gatehouse:gatehouse@${hosts.join(',')}/${database}`;
}

async function until<Found>(what: string, members: Member[], find: () => Promise<Found | undefined>): Promise<Found> {
  for (const began = performance.now(); performance.now() - began < GIVE_UP_AFTER; await setTimeout(POLL_INTERVAL)) {
    const found = await find();
    if (found) return found;
  }
  const logs = members.map(({ name, log }) => `${name}: ${log().split('\n').slice(-12).join('\n')}`);
  throw new Error(`not within ${GIVE_UP_AFTER / 1000} s: ${what}\n${logs.join('\n')}`);
}

/** The member that holds the leader's key and runs as primary, as a load balancer would find it. */
async function findLeader(members: Member[], except?: Member): Promise<Member | undefined> {
  for (const member of members) {
    if (member !== except && (await fetchState(`${member.rest}/primary`))?.status === 200) return member;
  }
  return undefined;
}

interface Described {
  members: { name: string; role: string; state: string }[];
}

async function describeBy(member: Member): Promise<Described['members']> {
  const body = (await fetchState(`${member.rest}/cluster`))?.body as Described | undefined;
  return body?.members ?? [];
}

async function findStandby(members: Member[], leader: Member, except?: Member): Promise<Member | undefined> {
  const described = await describeBy(leader);
  const names = described.filter(isSynchronous).map(({ name }) => name);
  return members.find((member) => member !== except && names.includes(member.name));
}

/** The state in etcd may be outdated, so this also queries each member. */
async function isWhole(members: Member[]): Promise<boolean> {
  const leader = await findLeader(members);
  if (!leader) return false;
  const replicas = members.filter((member) => member !== leader);
  const statuses = await Promise.all(replicas.map(async ({ rest }) => (await fetchState(`${rest}/replica`))?.status));
  const others = (await describeBy(leader)).filter(({ role }) => role !== 'leader');
  const areStreaming = others.length === replicas.length && others.every(({ state }) => state === 'streaming');
  return statuses.every((status) => status === 200) && areStreaming && others.some(isSynchronous);
}

const isSynchronous = ({ role }: Described['members'][number]) => role === 'sync_standby';

async function fetchState(url: string): Promise<{ status: number; body: unknown } | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) });
    return { status: response.status, body: await response.json() };
  } catch {
    return undefined;
  }
}
