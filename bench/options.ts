import { parseArgs } from 'node:util';
import { CONTENDERS } from './contenders.ts';
import { SCENARIOS } from './scenarios/all.ts';

export interface Options {
  isFull: boolean;
  publishes: boolean;
  profiles: boolean;
  scenarios: string[];
  contenders: string[];
  /** Another checkout of Gatehouse, measured by turns with this one. */
  beside: string | undefined;
  lanes: number;
  rounds: number;
  /** Of measuring, in seconds, for each scenario of each contender in each round. */
  spell: number;
  /** The same before the rounds, uncounted. */
  warmUp: number;
  /** In between, at four fifths of what it just came to, for how long answers take. */
  pacedSpell: number;
  amounts: Amounts;
}

/** How much the full form goes through. */
interface Amounts {
  /** Grants in the database. */
  sizes: number[];
  /** Of one grant. */
  refreshes: number;
  dead: number;
  requests: number;
}

const AMOUNTS: Amounts = { sizes: [1000, 100_000, 2_000_000], refreshes: 10_000, dead: 200_000, requests: 1_000_000 };

/** What is compared with another checkout. */
const OWN = CONTENDERS.filter(({ name }) => name.startsWith('gatehouse'))
  .map(({ name }) => name)
  .join();

export class UsageError extends Error {}

/** V8 compiles for some three seconds of load before a server is as fast as it will be; the quick form has no time for that. */
const QUICK = { rounds: 2, spell: 0.25, warmUp: 0.5, pacedSpell: 0.12 };
const FULL = { rounds: 4, spell: 0.36, warmUp: 3.5, pacedSpell: 0.19 };

export const HELP = `Measures Gatehouse beside its peers, each in a process of its own.

npm run bench                           the quick form: about two minutes, prints tables
npm run bench -- --full                 also growth, overhead and profiles: about sixteen minutes, writes docs/performance.md
npm run bench -- --only refresh,call    these scenarios: ${SCENARIOS.map(({ name }) => name).join(', ')}
npm run bench -- --contenders a,b       these contenders: ${CONTENDERS.map(({ name }) => name).join(', ')}
npm run bench -- --publish              writes docs/performance.md after the quick form, too
npm run bench -- --profile              says where the time goes, after the quick form, too
npm run bench -- --beside FOLDER        Gatehouse alone, by turns with another checkout of it, which has its packages installed
npm run bench -- --rounds N             so many rounds
npm run bench -- --lanes N              over so many connections (32 if left out)
npm run bench -- --spell SECONDS        measures each scenario for so long in each round
npm run bench -- --full --share 0.01    goes through that share of all amounts, to try it out`;

/** Undefined if help was asked for. */
export function readOptions(args: string[]): Options | undefined {
  const { values } = parse(args);
  if (values.help) return undefined;
  const isFull = values.full ?? false;
  const usual = isFull ? FULL : QUICK;
  const spell = readNumber('spell', values.spell, usual.spell);
  return {
    isFull,
    publishes: isFull || (values.publish ?? false),
    profiles: isFull || (values.profile ?? false),
    scenarios: readNames('only', values.only, SCENARIOS),
    contenders: readNames('contenders', values.contenders ?? (values.beside && OWN), CONTENDERS),
    beside: values.beside,
    lanes: readNumber('lanes', values.lanes, 32),
    rounds: readNumber('rounds', values.rounds, usual.rounds),
    spell,
    warmUp: values.spell === undefined ? usual.warmUp : spell,
    pacedSpell: values.spell === undefined ? usual.pacedSpell : spell,
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
        beside: { type: 'string' },
        rounds: { type: 'string' },
        lanes: { type: 'string' },
        spell: { type: 'string' },
        share: { type: 'string' },
        help: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function readNames(option: string, text: string | undefined, known: { name: string }[]): string[] {
  const names = known.map(({ name }) => name);
  const wanted = text === undefined ? names : text.split(',').map((name) => name.trim());
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`--${option}: there is no ${unknown}. There are ${names.join(', ')}.`);
  return names.filter((name) => wanted.includes(name));
}

function readAmounts(share: number): Amounts {
  const { sizes, refreshes, dead, requests } = AMOUNTS;
  const scaled = (amount: number) => Math.max(1, Math.round(amount * share));
  return {
    sizes: sizes.map((size) => Math.max(1000, scaled(size))).filter((size, place, all) => all.indexOf(size) === place),
    refreshes: scaled(refreshes),
    dead: scaled(dead),
    requests: scaled(requests),
  };
}

function readNumber(option: string, text: string | undefined, usual: number): number {
  const number = text === undefined ? usual : Number(text);
  if (!(number > 0)) throw new UsageError(`--${option} is a number above 0.`);
  return number;
}
