import type { Connected, Running, Tokens, Visitor } from '../contender.ts';
import type { Work } from '../load.ts';
import type { Lane } from '../wire.ts';

export interface Scenario {
  name: string;
  title: string;
  /** What one turn is, for people. */
  means: string;
  /** Of the time that others are measured for: less where what a turn needs takes several times as long to make. */
  share: number;
  isOffered(contender: Running): boolean;
  prepare(contender: Running, lanes: Lane[]): Work;
}

/**
 * How many turns are stocked up for at once. Few on purpose: the memory of `oidc-provider` holds a thousand things, and what
 * belongs to one of its grants is looked through whenever something is added, so nobody is given a long history.
 */
export function batchFor(lanes: Lane[]): number {
  return 8 * lanes.length;
}

export const always = () => true;

/** One visitor for each lane, with cookies of its own. */
export function welcomeAll(contender: Running, lanes: Lane[]): Promise<Visitor[]> {
  return Promise.all(lanes.map((lane, place) => contender.welcome(lane, place)));
}

/** So many codes, made by all lanes together. */
export async function makeCodes(contender: Running, lanes: Lane[], count: number): Promise<string[]> {
  const codes: string[] = [];
  const visitors = await welcomeAll(contender, lanes);
  await shareOut(lanes, count, async (lane, place) => {
    codes.push(await contender.authorize(lane, visitors[place] as Visitor));
  });
  return codes;
}

/** So many connections, each from its own Allow, or as many of those that have long been there. */
export async function connectMany(contender: Running, lanes: Lane[], count: number): Promise<Connected[]> {
  if (contender.pick) return contender.pick(count);
  const connected: Connected[] = [];
  const visitors = await welcomeAll(contender, lanes);
  await shareOut(lanes, count, async (lane, place) => {
    const visitor = visitors[place] as Visitor;
    connected.push({ visitor, tokens: await exchange(contender, lane, await contender.authorize(lane, visitor)) });
  });
  return connected;
}

export async function exchange(contender: Running, lane: Lane, code: string): Promise<Tokens> {
  const request = contender.exchange(code);
  return contender.readTokens(request, await lane.ask(request));
}

/** What a turn takes out of the stock. */
export function take<Thing>(stock: Thing[]): Thing {
  const thing = stock.shift();
  if (thing === undefined) throw new Error('The stock is used up.');
  return thing;
}

async function shareOut(lanes: Lane[], count: number, work: (lane: Lane, place: number) => Promise<void>) {
  let left = count;
  await Promise.all(
    lanes.map(async (lane, place) => {
      while (left > 0) {
        left -= 1;
        await work(lane, place);
      }
    }),
  );
}
