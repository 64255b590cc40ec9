import { findEvent, hasUndispatchedEvents } from '../events/events.ts';
import { type Clock, SECOND, systemClock } from '../lib/clock.ts';
import type { Keyring } from '../lib/keyring.ts';
import { type Polling, startPolling } from '../lib/polling.ts';
import { randomFraction } from '../lib/secrets.ts';
import type { Database, Storage } from '../storage/storage.ts';
import { type Delivery, dispatchEvents, listDue, nextDueAt, type Outcome, recordAttempt } from './deliveries.ts';
import { switchEndpointOff } from './endpoint-notices.ts';
import {
  type ActiveByOwner,
  areEndpointsDue,
  type ClaimedEndpoint,
  chooseEndpoints,
  claimEndpoints,
  isStillClaimed,
  recordFailure,
  recordSuccess,
  releaseEndpoint,
} from './queue.ts';
import { publishAttempt, sendMessage } from './sender.ts';
import { toMessage } from './signatures.ts';
import { canReceive } from './visibility.ts';

export interface WorkerDeps {
  storage: Storage;
  keys: Keyring;
  clock: Clock;
  allowsLoopback: boolean;
  /** The timeout of one attempt, in milliseconds. */
  timeLimit: number;
}

const DISPATCH_BATCH = 200;
/** Endpoints that this node sends to at the same time: a slow one occupies one slot only. */
const MAX_ACTIVE_ENDPOINTS = 200;
const DELIVERIES_PER_CLAIM = 50;
/** After this time, the endpoint is released. Even with one more attempt, this is well within the lease. */
const MAX_CLAIM_TIME = 20 * SECOND;
const LEASE = 60 * SECOND;

const WITHHELD: Outcome = { outcome: 'withheld', status: null, head: '', took: 0 };

/** Dispatches events and sends deliveries until it is stopped. */
export function startWebhooks(deps: WorkerDeps, report: (error: unknown) => void): Polling {
  const active = new Map<Promise<void>, ClaimedEndpoint>();
  const polling = startPolling((isStopped) => {
    const start = (endpoint: ClaimedEndpoint) => {
      const work = sendDeliveries(deps, endpoint, isStopped).catch(report);
      active.set(work, endpoint);
      work.finally(() => active.delete(work));
    };
    return poll(deps, countByOwner(active.values()), start, isStopped);
  }, report);
  return {
    wake: polling.wake,
    async stop() {
      await polling.stop();
      await Promise.all(active.keys());
    },
  };
}

function countByOwner(endpoints: Iterable<ClaimedEndpoint>): ActiveByOwner {
  const counts = new Map<string, number>();
  for (const { owner } of endpoints) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts;
}

/** Returns whether there was work. The checks run without a transaction, because usually there is none. */
async function poll(
  deps: WorkerDeps,
  active: ActiveByOwner,
  start: (endpoint: ClaimedEndpoint) => void,
  isStopped: () => boolean,
): Promise<boolean> {
  const db = deps.storage.relaxed;
  const hasEvents = await hasUndispatchedEvents(db);
  if (hasEvents) await dispatchAll(deps, isStopped);
  const taken = [...active.values()].reduce((sum, count) => sum + count, 0);
  const isDue = taken < MAX_ACTIVE_ENDPOINTS && !isStopped() && (await areEndpointsDue(db, deps.clock()));
  if (isDue) for (const endpoint of await claim(deps, active, MAX_ACTIVE_ENDPOINTS - taken)) start(endpoint);
  return hasEvents || isDue;
}

async function dispatchAll({ storage, clock }: WorkerDeps, isStopped: () => boolean): Promise<void> {
  let taken = DISPATCH_BATCH;
  while (taken === DISPATCH_BATCH && !isStopped()) {
    taken = await storage.relaxed.transaction().execute((db) => dispatchEvents(db, DISPATCH_BATCH, clock()));
  }
}

async function claim(
  { storage, keys, clock }: WorkerDeps,
  active: ActiveByOwner,
  limit: number,
): Promise<ClaimedEndpoint[]> {
  const now = clock();
  const chosen = await chooseEndpoints(storage.relaxed, { limit, active }, now);
  if (chosen.length === 0) return [];
  return storage.relaxed.transaction().execute((db) => claimEndpoints(db, keys, { chosen, lease: now + LEASE }, now));
}

/** Sends deliveries one after the other, in the order of their events. Stops at the first failure: the endpoint then backs off. */
async function sendDeliveries(deps: WorkerDeps, endpoint: ClaimedEndpoint, isStopped: () => boolean): Promise<void> {
  const { clock } = deps;
  const db = deps.storage.relaxed;
  const began = systemClock();
  let backoff: number | undefined = 0;
  for (const delivery of await listDue(db, endpoint.id, DELIVERIES_PER_CLAIM, clock())) {
    if (isStopped() || systemClock() - began > MAX_CLAIM_TIME || !(await isStillClaimed(db, endpoint))) break;
    backoff = await deliver(deps, endpoint, delivery);
    if (backoff !== 0) break;
  }
  const dueAt = await nextDueAt(db, endpoint.id);
  const backoffUntil = backoff ? clock() + backoff : 0;
  await releaseEndpoint(db, endpoint, { dueAt: dueAt === null ? null : Math.max(dueAt, backoffUntil), backoffUntil });
}

/** Returns the backoff in milliseconds; undefined if the endpoint has been disabled or removed. */
async function deliver(deps: WorkerDeps, endpoint: ClaimedEndpoint, delivery: Delivery): Promise<number | undefined> {
  const { storage, clock } = deps;
  const event = await findEvent(storage.relaxed, delivery.eventId);
  // The event may be past its retention, or the app may have lost access to it.
  const isWithheld = !event || !(await canReceive(storage.relaxed, event, clock()));
  // Waits until the event is on disk: a crash could still undo it.
  await storage.flushed?.();
  const outcome = isWithheld ? WITHHELD : await sendMessage(endpoint, toMessage(event), deps);
  if (!isWithheld) publishAttempt(endpoint.url, outcome);
  const now = clock();
  return storage.relaxed.transaction().execute(async (db) => {
    await recordAttempt(db, delivery, outcome, { chance: randomFraction(), now });
    return recordOutcome(db, endpoint, outcome, now);
  });
}

async function recordOutcome(
  db: Database,
  endpoint: ClaimedEndpoint,
  { outcome, status }: Outcome,
  now: number,
): Promise<number | undefined> {
  if (outcome === 'withheld') return 0;
  if (outcome === 'delivered') {
    await recordSuccess(db, endpoint);
    return 0;
  }
  if (status !== 410) return recordFailure(db, endpoint, randomFraction(), now);
  await switchEndpointOff(db, endpoint.id, 'gone', now);
  return undefined;
}
