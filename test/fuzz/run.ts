import { type Connection, newConnection, type Outcome, type ParsedResponse, type Sent } from './connection.ts';
import { type Draft, draftRequest } from './draft.ts';
import { type Material, newMaterial, renewSessions } from './material.ts';
import { judge } from './oracle.ts';
import type { Product } from './product.ts';
import { newRandom } from './random.ts';
import { render } from './render.ts';
import { spoilDraft } from './spoiling.ts';

/** Requests per tenant. */
export const ROUND = 1000;
/** Requests per session: some of them end it. */
const SESSION = 100;
const CONNECTIONS = 32;
/** Longer than the headers timeout: the parser reads `PRI` as the start of an HTTP/2 preface. */
const RESPONSE_TIMEOUT = 13_000;

export interface Range {
  seed: number;
  from: number;
  requests: number;
}

export interface Finding {
  number: number;
  problem: string;
  sent: Buffer;
}

export interface Tally {
  responses: Map<string, number>;
  findings: Finding[];
  slowest: number;
  /** The routes that succeeded at least once. */
  reached: Set<string>;
}

/** Sends a range of requests, and returns what is wrong with their responses. */
export async function fuzz(
  product: Product,
  range: Range,
  progress: (sent: number, found: number) => void,
): Promise<Tally> {
  const tally: Tally = { responses: new Map(), findings: [], slowest: 0, reached: new Set() };
  const end = range.from + range.requests;
  for (let start = range.from; start < end && product.isAlive(); ) {
    const round = Math.floor(start / ROUND);
    const stop = Math.min(end, (round + 1) * ROUND);
    await fuzzRound(product, { seed: range.seed, round, start, stop }, tally);
    progress(stop - range.from, tally.findings.length);
    start = stop;
  }
  return tally;
}

interface Round {
  seed: number;
  round: number;
  start: number;
  stop: number;
}

async function fuzzRound(product: Product, { seed, round, start, stop }: Round, tally: Tally): Promise<void> {
  const material = await newMaterial(product, round);
  let next = start;
  const work = async () => {
    const connections = {
      api: newConnection(product.ports.api, RESPONSE_TIMEOUT),
      web: newConnection(product.ports.web, RESPONSE_TIMEOUT),
    };
    while (next < stop && product.isAlive()) {
      const number = next++;
      if (number % SESSION === 0) await renewSessions(product, material);
      await tryRequest(product, { seed, number, material, connections }, tally);
    }
    connections.api.close();
    connections.web.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
}

interface Attempt {
  seed: number;
  number: number;
  material: Material;
  connections: Record<Draft['host'], Connection>;
}

async function tryRequest(
  product: Product,
  { seed, number, material, connections }: Attempt,
  tally: Tally,
): Promise<void> {
  const { draft, sent } = compose(product, { seed, number, material });
  const begun = performance.now();
  // The worst outcome: the host accepts no connections.
  const outcome = await connections[draft.host].send(sent).catch((): Outcome => 'hang');
  tally.slowest = Math.max(tally.slowest, performance.now() - begun);
  if (typeof outcome === 'object' && isDone(outcome)) tally.reached.add(`${draft.host} ${draft.method} ${draft.route}`);
  const kind = typeof outcome === 'object' ? String(outcome.status) : (outcome ?? 'ended');
  tally.responses.set(kind, (tally.responses.get(kind) ?? 0) + 1);
  const problem = await judge(product, { host: draft.host, isTorn: sent.isTorn }, outcome);
  if (problem) tally.findings.push({ number, problem, sent: sent.bytes });
}

/** Whether the request was neither rejected nor redirected to sign-in. */
function isDone({ status, headers }: ParsedResponse): boolean {
  return status < 400 && !headers.some(([name, value]) => name === 'location' && value.startsWith('/sign-in'));
}

/** Request number n: the same in every run, except for secrets and ids. */
function compose(
  product: Product,
  { seed, number, material }: { seed: number; number: number; material: Material },
): { draft: Draft; sent: Sent } {
  const random = newRandom(seed, number);
  const draft = draftRequest(random, product, material);
  spoilDraft(random, draft, material);
  return { draft, sent: render(random, draft) };
}
