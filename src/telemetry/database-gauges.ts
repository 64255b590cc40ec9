import { setTimeout } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { type Clock, MINUTE, SECOND, systemClock } from '../lib/clock.ts';
import type { Database, Storage } from '../storage/storage.ts';
import { type Backlog, countGrants, type GrantCounts, readBacklog } from './database-counts.ts';
import { labelledCounter, readGauge, type Sample } from './metrics.ts';

const BACKLOG_INTERVAL = 15 * SECOND;
const GRANTS_INTERVAL = MINUTE;
/** Counting two million grants then takes 3.5 minutes at 1 % of a core. */
const SLICE_PAUSE = 100;

/** Polls the database in the background, so that a scrape reads memory only. Returns a function that stops it. */
export function databaseGauges(
  registry: Registry,
  { storage, clock }: { storage: Storage; clock: Clock },
): () => Promise<void> {
  const stopped = new AbortController();
  const pause = async (milliseconds: number) => {
    await setTimeout(milliseconds, undefined, { signal: stopped.signal, ref: false }).catch(() => {});
    return stopped.signal.aborted ? 'stop' : 'continue';
  };
  const polled: Polled = { backlog: undefined, grants: undefined, isReachable: true };
  const failures = labelledCounter(
    registry,
    'gatehouse_watch_failures_total',
    'Failed polls of the database, by query.',
    'asked',
    ['backlog', 'grants'],
  );
  const poll = async (asked: string, interval: number, read: () => Promise<void>) => {
    do {
      await read().catch(() => failures.inc({ asked }));
    } while ((await pause(interval)) === 'continue');
  };
  const db = storage.relaxed;
  const polls = [
    poll('backlog', BACKLOG_INTERVAL, () => pollBacklog(db, polled, clock())),
    poll('grants', GRANTS_INTERVAL, async () => {
      polled.grants = (await countGrants(db, () => pause(SLICE_PAUSE), clock())) ?? polled.grants;
    }),
  ];
  addGauges(registry, polled);
  addPoolGauge(registry, storage);
  return async () => {
    stopped.abort();
    await Promise.all(polls);
  };
}

interface Polled {
  backlog: (Backlog & { at: number }) | undefined;
  grants: GrantCounts | undefined;
  isReachable: boolean;
}

async function pollBacklog(db: Database, polled: Polled, now: number): Promise<void> {
  try {
    polled.backlog = { ...(await readBacklog(db, now)), at: systemClock() };
    polled.isReachable = true;
  } catch (error) {
    polled.isReachable = false;
    throw error;
  }
}

function addGauges(registry: Registry, polled: Polled): void {
  readGauge(registry, 'gatehouse_database_up', 'Whether the last poll of the database succeeded.', () => [
    { value: polled.isReachable ? 1 : 0 },
  ]);
  readGauge(registry, 'gatehouse_grants', 'Grants by state.', () => byLabel('state', polled.grants ?? {}), ['state']);
  readGauge(
    registry,
    'gatehouse_clean_up_backlog_rows',
    'Expired rows that are not removed yet, counted up to 5000.',
    () => byLabel('table', polled.backlog?.toRemove ?? {}),
    ['table'],
  );
  for (const [name, help, read] of BACKLOG_GAUGES) {
    readGauge(registry, name, help, () => (polled.backlog ? [{ value: read(polled.backlog) }] : []));
  }
}

const BACKLOG_GAUGES: [name: string, help: string, read: (backlog: Backlog & { at: number }) => number][] = [
  [
    'gatehouse_database_seen_timestamp_seconds',
    'When the backlogs were last read, in seconds since 1970.',
    ({ at }) => at / SECOND,
  ],
  [
    'gatehouse_webhook_happenings_waiting',
    'Happenings that are not spread into events yet, counted up to 5000.',
    ({ happenings }) => happenings,
  ],
  [
    'gatehouse_webhook_oldest_happening_age_seconds',
    'Age of the oldest happening that is not spread yet.',
    ({ oldestHappening }) => oldestHappening,
  ],
  [
    'gatehouse_follow_ups_waiting',
    'Follow-ups of stops that are not finished, counted up to 5000.',
    ({ followUps }) => followUps,
  ],
  [
    'gatehouse_oldest_follow_up_age_seconds',
    'Age of the oldest follow-up that is not finished.',
    ({ oldestFollowUp }) => oldestFollowUp,
  ],
  [
    'gatehouse_webhook_events_waiting',
    'Events that are not dispatched yet, counted up to 5000.',
    ({ events }) => events,
  ],
  ['gatehouse_webhook_deliveries_waiting', 'Pending deliveries, counted up to 5000.', ({ deliveries }) => deliveries],
  [
    'gatehouse_webhook_oldest_delivery_age_seconds',
    'Age of the oldest pending delivery, among the first 5000.',
    ({ oldestDelivery }) => oldestDelivery,
  ],
  [
    'gatehouse_webhook_endpoint_lateness_seconds',
    'How long the most overdue endpoint has been due.',
    ({ latestEndpoint }) => latestEndpoint,
  ],
  [
    'gatehouse_webhook_endpoints_failing',
    'Enabled endpoints whose last attempt failed.',
    ({ endpointsFailing }) => endpointsFailing,
  ],
  ['gatehouse_mails_waiting', 'Mails that are not sent yet, counted up to 5000.', ({ mails }) => mails],
];

function byLabel(label: string, counts: Record<string, number>): Sample[] {
  return Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

function addPoolGauge(registry: Registry, { readPools }: Storage): void {
  readGauge(
    registry,
    'gatehouse_database_connections',
    'Connections to PostgreSQL by pool and state; those that wait are requests that wait for one.',
    () =>
      (readPools?.() ?? []).flatMap(({ name, ...states }) =>
        byLabel('state', states).map(({ labels, value }) => ({ labels: { pool: name, ...labels }, value })),
      ),
    ['pool', 'state'],
  );
}
