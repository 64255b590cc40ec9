import { setTimeout } from 'node:timers/promises';
import { areEventsWaiting, findEvent } from '../events/events.ts';
import { type Clock, SECOND, systemClock } from '../lib/clock.ts';
import type { Keyring } from '../lib/keyring.ts';
import { newChance } from '../lib/secrets.ts';
import type { Storage } from '../storage/storage.ts';
import { attempt } from './attempt.ts';
import { mayHear } from './audience.ts';
import { type Delivery, dispatchEvents, listDue, nextDueAt, type Outcome, recordAttempt } from './deliveries.ts';
import {
  areEndpointsDue,
  type Claimed,
  claimEndpoints,
  disableEndpoint,
  noteFailure,
  noteSuccess,
  releaseEndpoint,
} from './endpoints.ts';
import { toMessage } from './messages.ts';

export interface WorkerParts {
  storage: Storage;
  keys: Keyring;
  clock: Clock;
  allowsLoopback: boolean;
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
export function startWebhooks(parts: WorkerParts, report: (error: unknown) => void): () => Promise<void> {
  const atWork = new Set<Promise<void>>();
  const stopped = new AbortController();
  const isStopped = () => stopped.signal.aborted;
  const begin = (endpoint: Claimed) => {
    const work = workOn(parts, endpoint, isStopped).catch(report);
    atWork.add(work);
    work.finally(() => atWork.delete(work));
  };
  const rounds = (async () => {
    for (let pause = SHORTEST_PAUSE; !isStopped(); pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      const isBusy = await round(parts, ENDPOINTS_AT_ONCE - atWork.size, begin, isStopped).catch(report);
      if (isBusy) pause = SHORTEST_PAUSE;
      await setTimeout(pause, undefined, { signal: stopped.signal, ref: false }).catch(() => {});
    }
  })();
  return async () => {
    stopped.abort();
    await rounds;
    await Promise.all(atWork);
  };
}

/** True if there was something to do. It is looked for without a transaction, since mostly there is not. */
async function round(
  parts: WorkerParts,
  places: number,
  begin: (endpoint: Claimed) => void,
  isStopped: () => boolean,
): Promise<boolean> {
  const db = parts.storage.recoverable;
  const hasEvents = await areEventsWaiting(db);
  if (hasEvents) await dispatchAll(parts, isStopped);
  const isDue = places > 0 && !isStopped() && (await areEndpointsDue(db, parts.clock()));
  if (isDue) for (const endpoint of await claim(parts, places)) begin(endpoint);
  return hasEvents || isDue;
}

async function dispatchAll({ storage, clock }: WorkerParts, isStopped: () => boolean): Promise<void> {
  let taken = EVENTS_AT_ONCE;
  while (taken === EVENTS_AT_ONCE && !isStopped()) {
    taken = await storage.recoverable.transaction().execute((db) => dispatchEvents(db, EVENTS_AT_ONCE, clock()));
  }
}

function claim({ storage, keys, clock }: WorkerParts, limit: number): Promise<Claimed[]> {
  const now = clock();
  return storage.recoverable
    .transaction()
    .execute((db) => claimEndpoints(db, keys, { limit, lease: now + LEASE }, now));
}

/** One delivery after the other, in order. The first failure ends it: the endpoint is left alone for a while. */
async function workOn(parts: WorkerParts, endpoint: Claimed, isStopped: () => boolean): Promise<void> {
  const { clock } = parts;
  const db = parts.storage.recoverable;
  const began = systemClock();
  let pause: number | undefined = 0;
  for (const delivery of await listDue(db, endpoint.id, DELIVERIES_IN_A_ROW, clock())) {
    if (isStopped() || systemClock() - began > WORK_FOR) break;
    pause = await deliver(parts, endpoint, delivery);
    if (pause !== 0) break;
  }
  const dueAt = await nextDueAt(db, endpoint.id);
  const earliest = clock() + (pause ?? 0);
  await releaseEndpoint(db, endpoint, dueAt === null ? null : Math.max(dueAt, earliest));
}

/** How long to leave the endpoint alone afterwards; undefined if it has been switched off. */
async function deliver(parts: WorkerParts, endpoint: Claimed, delivery: Delivery): Promise<number | undefined> {
  const { storage, clock } = parts;
  const db = storage.recoverable;
  const event = await findEvent(db, delivery.eventId);
  // What is a month old is gone, and what the app may not know any more is kept from it.
  const isWithheld = !event || !(await mayHear(db, event, clock()));
  const outcome = isWithheld ? WITHHELD : await attempt(endpoint, toMessage(event), parts);
  await recordAttempt(db, delivery, outcome, { chance: newChance(), now: clock() });
  if (isWithheld) return 0;
  if (outcome.outcome === 'delivered') {
    await noteSuccess(db, endpoint);
    return 0;
  }
  if (outcome.status === 410) {
    await disableEndpoint(storage.durable, endpoint.id, 'gone', clock());
    return undefined;
  }
  return noteFailure(db, endpoint, newChance(), clock());
}
