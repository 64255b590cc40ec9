import { setTimeout } from 'node:timers/promises';
import type { ConnectedApp, Visitor } from '../../bench/contender.ts';
import { gatehouseRequests } from '../../bench/contenders/gatehouse-requests.ts';
import { pickConnected } from '../../bench/growth.ts';
import { createHttpClient, type HttpClient } from '../../bench/http-client.ts';
import { exchange } from '../../bench/scenarios/scenario.ts';
import type { Seed } from '../../bench/seed.ts';
import type { UpgradeNode } from './nodes.ts';

const CLIENTS = 8;
/** Existing grants that one client uses. */
const GRANTS_PER_CLIENT = 16;
/** Between two operations of a client, in milliseconds. */
const PAUSE = 20;

type Requests = ReturnType<typeof gatehouseRequests>;

export interface Load {
  /** Nodes that receive requests. */
  nodes: UpgradeNode[];
  /** Begins a phase of the report. */
  enter(phase: string): void;
  /** Resolves when no request is open that was sent to the node. */
  drained(node: UpgradeNode): Promise<void>;
  stop(): Promise<LoadReport>;
}

export interface LoadReport {
  failures: string[];
  phases: PhaseReport[];
}

export interface PhaseReport {
  name: string;
  /** In milliseconds since 1970. */
  began: number;
  operations: number;
  /** Milliseconds. */
  median: number;
  p99: number;
  longest: number;
  slowest: string;
}

interface Sample {
  phase: string;
  operation: string;
  took: number;
}

/** Clients that refresh, call the API, introspect, exchange codes and revoke, on all nodes in turn. Nothing is sent twice. */
export function startLoad(seeded: Seed, grants: number, nodes: UpgradeNode[]): Load {
  const samples: Sample[] = [];
  const failures: string[] = [];
  const open = new Map<UpgradeNode, number>();
  const picked = pickConnected(CLIENTS * GRANTS_PER_CLIENT, grants);
  const requests = new Map<string, Requests>();
  const phases: { name: string; began: number }[] = [];
  let [phase, isOver] = ['', false];
  const load: Load = {
    nodes,
    enter: (name) => {
      phase = name;
      phases.push({ name, began: Date.now() });
    },
    async drained(node) {
      while ((open.get(node) ?? 0) > 0) await setTimeout(1);
    },
    async stop() {
      isOver = true;
      await all;
      return { failures, phases: phases.map((entered) => ({ ...entered, ...summarize(samples, entered.name) })) };
    },
  };
  const requestsOf = ({ api, web }: UpgradeNode) => {
    const known = requests.get(api) ?? gatehouseRequests(seeded, [api, web]);
    requests.set(api, known);
    return known;
  };
  const loop = async (index: number) => {
    const client = createHttpClient();
    const own = picked.slice(index * GRANTS_PER_CLIENT, (index + 1) * GRANTS_PER_CLIENT);
    for (let turn = index; !isOver; turn += 1) {
      const node = load.nodes[turn % load.nodes.length] as UpgradeNode;
      const [operation, work] = OPERATIONS[turn % OPERATIONS.length] as Operation;
      const [began, during] = [performance.now(), phase];
      open.set(node, (open.get(node) ?? 0) + 1);
      try {
        await work({ client, requests: requestsOf(node), own, index: index + CLIENTS * (turn % 50) });
        samples.push({ phase: during, operation, took: performance.now() - began });
      } catch (error) {
        failures.push(`${during}, ${operation} at ${node.release}: ${error}`);
      }
      open.set(node, (open.get(node) ?? 0) - 1);
      await setTimeout(PAUSE);
    }
    client.close();
  };
  load.enter('warm up');
  const all = Promise.all(Array.from({ length: CLIENTS }, (_, index) => loop(index)));
  return load;
}

interface OperationContext {
  client: HttpClient;
  requests: Requests;
  /** Connections that only this client uses. */
  own: ConnectedApp[];
  /** The index of a user with a session. */
  index: number;
}

type Operation = [name: string, work: (context: OperationContext) => Promise<unknown>];

const OPERATIONS: Operation[] = [
  ['refresh', refresh],
  ['call', call],
  ['introspect', introspect],
  ['refresh', refresh],
  ['exchange', connect],
  ['refresh', refresh],
  ['revoke', revoke],
];

async function refresh({ client, requests, own }: OperationContext): Promise<void> {
  const used = own.shift() as ConnectedApp;
  try {
    const request = requests.refresh(used.tokens.refresh);
    used.tokens = requests.readTokens(request, await client.ask(request));
  } finally {
    own.push(used);
  }
}

async function introspect({ client, requests, own }: OperationContext): Promise<void> {
  const request = requests.introspect((own[0] as ConnectedApp).tokens.access);
  requests.checkIntrospection(request, await client.ask(request), true);
}

/** Authorize, with the silent consent of a known user, and exchange. */
async function connect({ client, requests, index }: OperationContext): Promise<ConnectedApp> {
  const visitor: Visitor = await requests.signIn(client, index);
  return { visitor, tokens: await exchange(requests as never, client, await requests.authorize(client, visitor)) };
}

async function call(context: OperationContext): Promise<void> {
  const { client, requests } = context;
  const { visitor, tokens } = await connect(context);
  const request = requests.call(visitor, tokens.access);
  requests.checkCall(request, await client.ask(request), visitor);
}

async function revoke(context: OperationContext): Promise<void> {
  const { client, requests } = context;
  const { tokens } = await connect(context);
  const request = requests.revoke(tokens.refresh);
  requests.checkRevocation(request, await client.ask(request));
  const check = requests.introspect(tokens.access);
  requests.checkIntrospection(check, await client.ask(check), false);
}

function summarize(samples: Sample[], phase: string) {
  const sorted = samples.filter((sample) => sample.phase === phase).sort((a, b) => a.took - b.took);
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1]?.took ?? 0;
  const slowest = sorted.at(-1)?.operation ?? '';
  return { operations: sorted.length, median: at(0.5), p99: at(0.99), longest: at(1), slowest };
}
