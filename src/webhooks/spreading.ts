import { recordSpread } from '../events/events.ts';
import {
  deleteHappenings,
  type Happening,
  hasHappenings,
  listBusinessesAfter,
  listHappenings,
  markSpreadUntil,
} from '../events/happenings.ts';
import { listAppsWithScope } from '../grants/apps-with-scope.ts';
import { type Clock, monotonicClock } from '../lib/clock.ts';
import { type Polling, pauseFor, startPolling } from '../lib/polling.ts';
import { type Lease, LeaseLost, withLease } from '../storage/leases.ts';
import type { Database, Storage } from '../storage/storage.ts';

interface SpreadingDeps {
  storage: Storage;
  clock: Clock;
  /** The most events of one transaction, which then takes milliseconds. */
  batchSize?: number;
}

const BATCH_SIZE = 200;
const MAX_BUSINESSES = 16;

const LEASE = 'happenings';
/** Before all other ids. */
const FIRST = '00000000-0000-0000-0000-000000000000';

/** Spreads happenings until it is stopped, and calls `onEvents` when there are new events. */
export function startSpreading(deps: SpreadingDeps, onEvents: () => void, report: (error: unknown) => void): Polling {
  return startPolling(async (isStopped) => {
    if (!(await hasHappenings(deps.storage.relaxed))) return false;
    return spreadHappenings(deps, onEvents, isStopped);
  }, report);
}

/** Spreads all happenings, in short transactions. False if another process does. */
export async function spreadHappenings(
  deps: SpreadingDeps,
  onEvents: () => void = () => {},
  isStopped: () => boolean = () => false,
): Promise<boolean> {
  const spreadAll = async (lease: Lease) => {
    for (let last = FIRST; lease.isHeld() && !isStopped(); ) {
      const businesses = await nextBusinesses(deps.storage.relaxed, last);
      if (businesses.length === 0) break;
      const startedAt = monotonicClock();
      await spreadOf(deps, lease, businesses);
      last = businesses.at(-1) ?? FIRST;
      onEvents();
      await pauseFor(monotonicClock() - startedAt);
    }
    return true;
  };
  try {
    return (await withLease(deps.storage, LEASE, spreadAll)) ?? false;
  } catch (error) {
    if (error instanceof LeaseLost) return false;
    throw error;
  }
}

/** Each business in its turn: after the last one, the first follows. */
async function nextBusinesses(db: Database, last: string): Promise<string[]> {
  const next = await listBusinessesAfter(db, last, MAX_BUSINESSES);
  return next.length > 0 || last === FIRST ? next : listBusinessesAfter(db, FIRST, MAX_BUSINESSES);
}

/** Spreads some happenings of these businesses, the same share of each, so that one with many delays no other. */
function spreadOf(
  { storage, clock, batchSize = BATCH_SIZE }: SpreadingDeps,
  lease: Lease,
  businesses: string[],
): Promise<void> {
  const share = Math.max(1, Math.floor(batchSize / businesses.length));
  return storage.transaction(async (tx) => {
    await lease.confirm(tx);
    const now = clock();
    const spread: Spread = { events: [], done: [], partly: [] };
    for (const businessId of businesses) await spreadIn(tx, { businessId, share }, spread, now);
    await recordSpread(tx, spread.events, now);
    await deleteHappenings(tx, spread.done);
    for (const { id, lastAppId } of spread.partly) await markSpreadUntil(tx, id, lastAppId);
  });
}

interface Spread {
  events: Parameters<typeof recordSpread>[1];
  /** The ids of happenings whose apps have all of their events. */
  done: string[];
  /** Happenings with more apps than fit into the transaction. */
  partly: { id: string; lastAppId: string }[];
}

/** Adds at most `share` events, in the order of the happenings. Each page of apps is read once. */
async function spreadIn(
  tx: Database,
  { businessId, share }: { businessId: string; share: number },
  { events, done, partly }: Spread,
  now: number,
): Promise<void> {
  const pages = new Map<string, ReturnType<typeof listAppsWithScope>>();
  let left = share;
  for (const happening of await listHappenings(tx, businessId, share)) {
    const { id, scope, last_app_id } = happening;
    const key = `${scope} ${last_app_id}`;
    const page = { businessId, scope, after: last_app_id ?? undefined, limit: share };
    const reading = pages.get(key) ?? listAppsWithScope(tx, page, now);
    pages.set(key, reading);
    const { apps, last } = await reading;
    if (apps.length > left) return;
    left -= apps.length;
    events.push(...apps.map((appId) => toEvent(happening, appId)));
    if (last !== undefined) {
      partly.push({ id, lastAppId: last });
      return;
    }
    done.push(id);
  }
}

function toEvent({ type, business_id, data, happened_at }: Happening, app_id: string) {
  return { type, app_id, business_id, data, happened_at };
}
