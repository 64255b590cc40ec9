import { parseArgs } from 'node:util';
import type { Contender } from './contender.ts';
import { CONTENDERS, INSTALLED, type Installed } from './contenders.ts';
import { SCENARIOS } from './scenarios/all.ts';

export interface Options {
  isFull: boolean;
  publishes: boolean;
  profiles: boolean;
  scenarios: string[];
  contenders: Contender[];
  /** Another checkout of Gatehouse, measured in alternation with this one. */
  beside: string | undefined;
  connections: number;
  rounds: number;
  /** How long each scenario of each contender is measured in a round. */
  seconds: number;
  /** The same for the warm-up, which does not count. */
  warmUp: number;
  /** How long latency is measured, at 80 % of the throughput. */
  pacedSeconds: number;
  amounts: Amounts;
}

/** The sizes of the measurements of the full form. */
interface Amounts {
  /** Grants in the database. */
  sizes: number[];
  /** Refreshes of one grant. */
  refreshes: number;
  /** Expired grants that the retention job removes. */
  expired: number;
  requests: number;
}

const AMOUNTS: Amounts = {
  sizes: [1000, 100_000, 2_000_000],
  refreshes: 10_000,
  expired: 200_000,
  requests: 1_000_000,
};

/** The contenders that are compared with another checkout. */
const OWN = CONTENDERS.filter(({ name }) => name.startsWith('gatehouse'))
  .map(({ name }) => name)
  .join();

export class UsageError extends Error {}

/** V8 needs about three seconds of load to compile the hot code. The quick form does not wait for that. */
const QUICK = { rounds: 2, seconds: 0.25, warmUp: 0.5, pacedSeconds: 0.12 };
const FULL = { rounds: 4, seconds: 0.36, warmUp: 3.5, pacedSeconds: 0.19 };

export const HELP = `Compares the performance of Gatehouse with its peers. Each runs in its own process.

npm run bench                           the quick form: about three minutes, prints tables
npm run bench -- --full                 adds growth, overhead and profiles: about twenty minutes, writes docs/performance.md
npm run bench -- --only refresh,call    only these scenarios: ${SCENARIOS.map(({ name }) => name).join(', ')}
npm run bench -- --contenders a,b       only these contenders: ${CONTENDERS.map(({ name }) => name).join(', ')}
npm run bench -- --publish              write docs/performance.md also after the quick form
npm run bench -- --profile              print CPU profiles also after the quick form
npm run bench -- --hydra FILE           adds Ory Hydra on PostgreSQL; FILE is its program
npm run bench -- --keycloak FOLDER      adds Keycloak on PostgreSQL; FOLDER is where it is unpacked
npm run bench -- --beside FOLDER        compare Gatehouse with another checkout of it, whose packages are installed
npm run bench -- --rounds N             the number of rounds
npm run bench -- --connections N        the number of connections (default: 32)
npm run bench -- --seconds N            how long each scenario is measured in a round
npm run bench -- --full --share 0.01    scale all sizes by this factor, to try it out`;

/** Undefined for --help. */
export function readOptions(args: string[]): Options | undefined {
  const { values } = parse(args);
  if (values.help) return undefined;
  const isFull = values.full ?? false;
  const usual = isFull ? FULL : QUICK;
  const seconds = readNumber('seconds', values.seconds, usual.seconds);
  return {
    isFull,
    publishes: isFull || (values.publish ?? false),
    profiles: isFull || (values.profile ?? false),
    scenarios: choose('only', values.only, SCENARIOS).map(({ name }) => name),
    contenders: readContenders(values.contenders ?? (values.beside && OWN), values),
    beside: values.beside,
    connections: readNumber('connections', values.connections, 32),
    rounds: readNumber('rounds', values.rounds, usual.rounds),
    seconds,
    warmUp: values.seconds === undefined ? usual.warmUp : seconds,
    pacedSeconds: values.seconds === undefined ? usual.pacedSeconds : seconds,
    amounts: readAmounts(readNumber('share', values.share, 1)),
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        full: { type: 'boolean' },
        publish: { type: 'boolean' },
        profile: { type: 'boolean' },
        only: { type: 'string' },
        contenders: { type: 'string' },
        hydra: { type: 'string' },
        keycloak: { type: 'string' },
        beside: { type: 'string' },
        rounds: { type: 'string' },
        connections: { type: 'string' },
        seconds: { type: 'string' },
        share: { type: 'string' },
        help: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Those that npm installs, and those whose path is given. */
function readContenders(text: string | undefined, paths: Installed): Contender[] {
  const installed = INSTALLED.flatMap(({ option, find, expected }) => {
    const path = paths[option];
    if (path === undefined) return [];
    const contender = find(path);
    if (!contender) throw new UsageError(`--${option}: ${path} is not what is expected here: ${expected}.`);
    return [contender];
  });
  return choose('contenders', text, [...CONTENDERS, ...installed]);
}

function choose<Named extends { name: string }>(option: string, text: string | undefined, known: Named[]): Named[] {
  const names = known.map(({ name }) => name);
  const wanted = text === undefined ? names : text.split(',').map((name) => name.trim());
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new UsageError(`--${option}: unknown name ${unknown}. Use ${names.join(', ')}.`);
  return known.filter(({ name }) => wanted.includes(name));
}

function readAmounts(share: number): Amounts {
  const { sizes, refreshes, expired, requests } = AMOUNTS;
  const scaled = (amount: number) => Math.max(1, Math.round(amount * share));
  return {
    sizes: sizes.map((size) => Math.max(1000, scaled(size))).filter((size, index, all) => all.indexOf(size) === index),
    refreshes: scaled(refreshes),
    expired: scaled(expired),
    requests: scaled(requests),
  };
}

function readNumber(option: string, text: string | undefined, usual: number): number {
  const number = text === undefined ? usual : Number(text);
  if (!(number > 0)) throw new UsageError(`--${option} must be a number above 0.`);
  return number;
}
