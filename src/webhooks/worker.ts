import { setTimeout } from 'node:timers/promises';
import { findEvent, hasUndispatchedEvents } from '../events/events.ts';
import { type Clock, SECOND, systemClock } from '../lib/clock.ts';
import type { Keyring } from '../lib/keyring.ts';
import { randomFraction } from '../lib/secrets.ts';
import type { Database, Storage } from '../storage/storage.ts';
import { type Delivery, dispatchEvents, listDue, nextDueAt, type Outcome, recordAttempt } from './deliveries.ts';
import { markEndpointDisabled } from './endpoints.ts';
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
  /** For one attempt, in milliseconds. */
  timeLimit: number;
}

/** Between two looks; the longer nothing happens, the longer. */
const SHORTEST_PAUSE = 50;
const LONGEST_PAUSE = 500;
const EVENTS_AT_ONCE = 200;
/** So many endpoints are worked on side by side; a slow or a dead one takes up one place, and nobody else's time. */
const ENDPOINTS_AT_ONCE = 200;
const DELIVERIES_IN_A_ROW = 50;
/** Then the endpoint is given back. With the longest attempt on top, this is well within the lease. */
const WORK_FOR = 20 * SECOND;
const LEASE = 60 * SECOND;

const WITHHELD: Outcome = { outcome: 'withheld', status: null, head: '', took: 0 };

/** Turns events into deliveries and carries them out, for as long as the server runs. Returns how to stop. */
export function startWebhooks(deps: WorkerDeps, report: (error: unknown) => void): () => Promise<void> {
  const places = new Map<Promise<void>, ClaimedEndpoint>();
  const stopped = new AbortController();
  const isStopped = () => stopped.signal.aborted;
  const begin = (endpoint: ClaimedEndpoint) => {
    const work = workOn(deps, endpoint, isStopped).catch(report);
    places.set(work, endpoint);
    work.finally(() => places.delete(work));
  };
  const rounds = (async () => {
    for (let pause = SHORTEST_PAUSE; !isStopped(); pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      const isBusy = await round(deps, countByOwner(places.values()), begin, isStopped).catch(report);
      if (isBusy) pause = SHORTEST_PAUSE;
      await setTimeout(pause, undefined, { signal: stopped.signal, ref: false }).catch(() => {});
    }
  })();
  return async () => {
    stopped.abort();
    await rounds;
    await Promise.all(places.keys());
  };
}

function countByOwner(endpoints: Iterable<ClaimedEndpoint>): ActiveByOwner {
  const counts = new Map<string, number>();
  for (const { owner } of endpoints) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts;
}

/** True if there was something to do. It is looked for without a transaction, since mostly there is not. */
async function round(
  deps: WorkerDeps,
  active: ActiveByOwner,
  begin: (endpoint: ClaimedEndpoint) => void,
  isStopped: () => boolean,
): Promise<boolean> {
  const db = deps.storage.relaxed;
  const hasEvents = await hasUndispatchedEvents(db);
  if (hasEvents) await dispatchAll(deps, isStopped);
  const taken = [...active.values()].reduce((sum, count) => sum + count, 0);
  const isDue = taken < ENDPOINTS_AT_ONCE && !isStopped() && (await areEndpointsDue(db, deps.clock()));
  if (isDue) for (const endpoint of await claim(deps, active, ENDPOINTS_AT_ONCE - taken)) begin(endpoint);
  return hasEvents || isDue;
}

async function dispatchAll({ storage, clock }: WorkerDeps, isStopped: () => boolean): Promise<void> {
  let taken = EVENTS_AT_ONCE;
  while (taken === EVENTS_AT_ONCE && !isStopped()) {
    taken = await storage.relaxed.transaction().execute((db) => dispatchEvents(db, EVENTS_AT_ONCE, clock()));
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

/** One delivery after the other, in order. The first failure ends it: the endpoint is left alone for a while. */
async function workOn(deps: WorkerDeps, endpoint: ClaimedEndpoint, isStopped: () => boolean): Promise<void> {
  const { clock } = deps;
  const db = deps.storage.relaxed;
  const began = systemClock();
  let pause: number | undefined = 0;
  for (const delivery of await listDue(db, endpoint.id, DELIVERIES_IN_A_ROW, clock())) {
    if (isStopped() || systemClock() - began > WORK_FOR || !(await isStillClaimed(db, endpoint))) break;
    pause = await deliver(deps, endpoint, delivery);
    if (pause !== 0) break;
  }
  const dueAt = await nextDueAt(db, endpoint.id);
  const backoffUntil = pause ? clock() + pause : 0;
  await releaseEndpoint(db, endpoint, { dueAt: dueAt === null ? null : Math.max(dueAt, backoffUntil), backoffUntil });
}

/** How long to leave the endpoint alone afterwards; undefined if it has been switched off. */
async function deliver(deps: WorkerDeps, endpoint: ClaimedEndpoint, delivery: Delivery): Promise<number | undefined> {
  const { storage, clock } = deps;
  const event = await findEvent(storage.relaxed, delivery.eventId);
  // What is a month old is gone, and what the app may not know any more is kept from it.
  const isWithheld = !event || !(await canReceive(storage.relaxed, event, clock()));
  // Nobody is told of anything that a crash could still undo.
  await storage.flushed?.();
  const outcome = isWithheld ? WITHHELD : await sendMessage(endpoint, toMessage(event), deps);
  if (!isWithheld) publishAttempt(endpoint.url, outcome);
  const now = clock();
  return storage.relaxed.transaction().execute(async (db) => {
    await recordAttempt(db, delivery, outcome, { chance: randomFraction(), now });
    return noteOutcome(db, endpoint, outcome, now);
  });
}

async function noteOutcome(
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
  await markEndpointDisabled(db, endpoint.id, 'gone', now);
  return undefined;
}
