import { REASONS } from '../http/errors.ts';
import { type Cell, type Histogram, type Metric, newHistogram, type Sample } from './registry.ts';

/** A request that has been answered. */
export interface Answered {
  method: string;
  /** The pattern of its address, never the address itself; `none` if there is nothing at it. */
  route: string;
  status: number;
  /** Why a program was refused. */
  reason: string | undefined;
  /** In milliseconds; undefined if it could not even be read. */
  took: number | undefined;
}

export type CountAnswer = (answered: Answered) => void;

/** In seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'none']);
const KNOWN_REASONS: ReadonlySet<string> = new Set(Object.values(REASONS).flat());
const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'];

interface RouteCounts {
  durations: Histogram;
  /** By method, then by class of status, then by reason: looking up is cheaper than making a key of all three. */
  outcomes: Map<string, Map<string, Map<string, Cell>>>;
}

/** Counts every answer. What a stranger can choose freely is no label, so the number of lines has an end. */
export function newRequestMetrics() {
  const hosts = new Map<string, Map<string, RouteCounts>>();
  const metrics: Metric[] = [
    {
      name: 'gatehouse_http_requests_total',
      help: 'Requests answered, by host, route, method, class of status and reason of refusal.',
      type: 'counter',
      read: () => readOutcomes(hosts),
    },
    {
      name: 'gatehouse_http_request_duration_seconds',
      help: 'How long answers took, from the first line of the request to the last byte of the answer.',
      type: 'histogram',
      read: () => readDurations(hosts),
    },
  ];
  return {
    metrics,
    ofHost(name: string): CountAnswer {
      const routes = new Map<string, RouteCounts>();
      hosts.set(name, routes);
      return (answered) => count(routes, answered);
    },
  };
}

function count(routes: Map<string, RouteCounts>, { method, route, status, reason, took }: Answered): void {
  const { durations, outcomes } = entry(routes, route, newRouteCounts);
  const byStatus = entry(outcomes, METHODS.has(method) ? method : 'other', newMap);
  const byReason = entry(byStatus, CLASSES[Math.floor(status / 100) - 1] ?? 'other', newMap);
  entry(byReason, nameOf(reason), newCell).value += 1;
  if (took !== undefined) durations.observe(took / 1000);
}

function nameOf(reason: string | undefined): string {
  if (reason === undefined) return '';
  return KNOWN_REASONS.has(reason) ? reason : 'other';
}

function entry<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const fresh = make();
  map.set(key, fresh);
  return fresh;
}

const newMap = () => new Map();
const newCell = (): Cell => ({ value: 0 });
const newRouteCounts = (): RouteCounts => ({ durations: newHistogram(BOUNDS), outcomes: new Map() });

function* readOutcomes(hosts: Map<string, Map<string, RouteCounts>>): Iterable<Sample> {
  for (const [host, routes] of hosts)
    for (const [route, { outcomes }] of routes)
      for (const [method, byStatus] of outcomes)
        for (const [status, byReason] of byStatus)
          for (const [reason, { value }] of byReason) yield { labels: { host, route, method, status, reason }, value };
}

function* readDurations(hosts: Map<string, Map<string, RouteCounts>>): Iterable<Sample> {
  for (const [host, routes] of hosts)
    for (const [route, { durations }] of routes) yield* durations.read({ host, route });
}
