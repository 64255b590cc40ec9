import { setTimeout } from 'node:timers/promises';
import { type Clock, MINUTE, SECOND, systemClock } from '../lib/clock.ts';
import type { Database, Storage } from '../storage/storage.ts';
import { type Backlog, readBacklog } from './backlog-gauges.ts';
import { countGrants, type GrantCounts } from './grant-gauges.ts';
import { type Metric, newCounter, type Sample } from './registry.ts';

const BACKLOG_EVERY = 15 * SECOND;
const GRANTS_EVERY = MINUTE;
/** Between two slices: two million grants take three and a half minutes, and a hundredth of a processor. */
const SLICE_PAUSE = 100;

interface Watched {
  storage: Storage;
  clock: Clock;
}

/** What only the database knows, asked now and then and not by each who asks: a scrape costs it nothing. */
export function watchDatabase({ storage, clock }: Watched): { metrics: Metric[]; stop(): Promise<void> } {
  const stopped = new AbortController();
  const rest = async (milliseconds: number) => {
    await setTimeout(milliseconds, undefined, { signal: stopped.signal, ref: false }).catch(() => {});
    return stopped.signal.aborted ? ('stop' as const) : ('go on' as const);
  };
  const seen: Seen = { backlog: undefined, grants: undefined, isReachable: true };
  const failures = newCounter(
    'gatehouse_watch_failures_total',
    'Looks at the database that failed, by what was asked.',
    'asked',
    ['backlog', 'grants'],
  );
  const look = async (asked: string, every: number, work: () => Promise<void>) => {
    do {
      await work().catch(() => failures.add(asked, 1));
    } while ((await rest(every)) === 'go on');
  };
  const db = storage.relaxed;
  const looks = [
    look('backlog', BACKLOG_EVERY, () => lookAtBacklog(db, seen, clock())),
    look('grants', GRANTS_EVERY, async () => {
      seen.grants = (await countGrants(db, () => rest(SLICE_PAUSE), clock())) ?? seen.grants;
    }),
  ];
  return {
    metrics: [...describe(seen), poolMetric(storage), failures.metric],
    async stop() {
      stopped.abort();
      await Promise.all(looks);
    },
  };
}

interface Seen {
  backlog: (Backlog & { at: number }) | undefined;
  grants: GrantCounts | undefined;
  isReachable: boolean;
}

async function lookAtBacklog(db: Database, seen: Seen, now: number): Promise<void> {
  try {
    seen.backlog = { ...(await readBacklog(db, now)), at: systemClock() };
    seen.isReachable = true;
  } catch (error) {
    seen.isReachable = false;
    throw error;
  }
}

function describe(seen: Seen): Metric[] {
  const gauge = (name: string, help: string, read: () => Iterable<Sample>): Metric => ({
    name,
    help,
    type: 'gauge',
    read,
  });
  const ofBacklog = (name: string, help: string, value: (backlog: Backlog & { at: number }) => number) =>
    gauge(name, help, () => (seen.backlog ? [{ value: value(seen.backlog) }] : []));
  return [
    gauge('gatehouse_database_up', 'Whether the database answered when it was last looked at.', () => [
      { value: seen.isReachable ? 1 : 0 },
    ]),
    ofBacklog(
      'gatehouse_database_seen_timestamp_seconds',
      'When the backlogs were last read, in seconds since 1970.',
      ({ at }) => at / SECOND,
    ),
    gauge('gatehouse_grants', 'Grants, by what they are by themselves.', () => byLabel('state', seen.grants ?? {})),
    gauge(
      'gatehouse_clean_up_backlog_rows',
      'Rows that no longer matter and are still there; 5000 means at least so many.',
      () => byLabel('table', seen.backlog?.toRemove ?? {}),
    ),
    ofBacklog(
      'gatehouse_webhook_events_waiting',
      'Events that are not on their way to anyone yet; 5000 means at least so many.',
      ({ events }) => events,
    ),
    ofBacklog(
      'gatehouse_webhook_deliveries_waiting',
      'Deliveries that have not arrived and are not given up; 5000 means at least so many.',
      ({ deliveries }) => deliveries,
    ),
    ofBacklog(
      'gatehouse_webhook_oldest_delivery_age_seconds',
      'Age of the oldest delivery that waits, of the first 5000.',
      ({ oldestDelivery }) => oldestDelivery,
    ),
    ofBacklog(
      'gatehouse_webhook_endpoint_lateness_seconds',
      'How long the endpoint has been due that has waited longest for its turn.',
      ({ latestEndpoint }) => latestEndpoint,
    ),
    ofBacklog(
      'gatehouse_webhook_endpoints_failing',
      'Endpoints that are on and whose last attempt failed.',
      ({ endpointsFailing }) => endpointsFailing,
    ),
  ];
}

function byLabel(label: string, counts: Record<string, number>): Sample[] {
  return Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

function poolMetric({ readPools }: Storage): Metric {
  return {
    name: 'gatehouse_database_connections',
    help: 'Connections to PostgreSQL by pool and state; those that wait are requests that wait for one.',
    type: 'gauge',
    read: () =>
      (readPools?.() ?? []).flatMap(({ name, ...states }) =>
        byLabel('state', states).map(({ labels, value }) => ({ labels: { pool: name, ...labels }, value })),
      ),
  };
}
