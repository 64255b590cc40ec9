import type { ConnectedApp, RunningServer, Tokens, Visitor } from '../contender.ts';
import type { HttpClient } from '../http-client.ts';
import type { Workload } from '../load.ts';

export interface Scenario {
  name: string;
  title: string;
  /** What one iteration does. */
  description: string;
  /** The share of the usual duration: less if preparing an iteration takes several times as long as the iteration. */
  share: number;
  isOffered(contender: RunningServer): boolean;
  prepare(contender: RunningServer, clients: HttpClient[]): Workload;
}

export const BATCH_PER_CLIENT = 8;

/**
 * Iterations per batch. Small, because the in-memory adapter of `oidc-provider` holds a thousand entries and searches all
 * entries of a grant whenever one is added.
 */
export function batchFor(clients: HttpClient[]): number {
  return BATCH_PER_CLIENT * clients.length;
}

export const always = () => true;

/** One visitor per client, each with its own cookies. */
export function createVisitors(contender: RunningServer, clients: HttpClient[]): Promise<Visitor[]> {
  return Promise.all(clients.map((client, index) => contender.signIn(client, index)));
}

/** Created by all clients in parallel. */
export async function createCodes(contender: RunningServer, clients: HttpClient[], count: number): Promise<string[]> {
  const codes: string[] = [];
  const visitors = await createVisitors(contender, clients);
  await distribute(clients, count, async (client, index) => {
    codes.push(await contender.authorize(client, visitors[index] as Visitor));
  });
  return codes;
}

/** Creates connections, or picks existing ones of a filled database. */
export async function connectMany(
  contender: RunningServer,
  clients: HttpClient[],
  count: number,
): Promise<ConnectedApp[]> {
  if (contender.pick) return contender.pick(count);
  const connected: ConnectedApp[] = [];
  const visitors = await createVisitors(contender, clients);
  await distribute(clients, count, async (client, index) => {
    const visitor = visitors[index] as Visitor;
    connected.push({ visitor, tokens: await exchange(contender, client, await contender.authorize(client, visitor)) });
  });
  return connected;
}

export async function exchange(contender: RunningServer, client: HttpClient, code: string): Promise<Tokens> {
  const request = contender.exchange(code);
  return contender.readTokens(request, await client.ask(request));
}

export function take<Item>(prepared: Item[]): Item {
  const thing = prepared.shift();
  if (thing === undefined) throw new Error('The batch is used up.');
  return thing;
}

async function distribute(
  clients: HttpClient[],
  count: number,
  work: (client: HttpClient, index: number) => Promise<void>,
) {
  let left = count;
  await Promise.all(
    clients.map(async (client, index) => {
      while (left > 0) {
        left -= 1;
        await work(client, index);
      }
    }),
  );
}
