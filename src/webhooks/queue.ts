import { DAY, HOUR, MINUTE, SECOND } from '../lib/clock.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { Database } from '../storage/storage.ts';
import { switchEndpointOff } from './endpoint-notices.ts';
import { secretsOf } from './endpoint-secrets.ts';
import { type Endpoint, fromRow, updateEndpoints } from './endpoints.ts';

/** The endpoints of one owner that a node sends to at the same time: the other slots are for other owners. */
const MAX_PER_OWNER = 50;
/** The next endpoints are chosen among this many that have been due longest. */
const CANDIDATES = 1000;

/** The owner of all first-party apps. */
const PLATFORM = '00000000-0000-0000-0000-000000000000';

/** How many endpoints of each owner this node is sending to. */
export type ActiveByOwner = ReadonlyMap<string, number>;

interface DueEndpoint {
  id: string;
  /** The business that owns its app, or the platform. */
  owner: string;
}

/** Endpoints with a due delivery that are enabled, not backing off and not claimed. */
function selectDue(db: Database, now: number) {
  return db
    .selectFrom('endpoints')
    .where('endpoints.due_at', '<=', now)
    .where('endpoints.claimed_until', '<=', now)
    .where('endpoints.backoff_until', '<=', now)
    .where('endpoints.disabled_at', 'is', null);
}

export async function areEndpointsDue(db: Database, now: number): Promise<boolean> {
  return (await selectDue(db, now).select('endpoints.id').limit(1).executeTakeFirst()) !== undefined;
}

/** Round-robin over owners: first one endpoint of each, then a second of each, up to the slots that each owner has left. */
export async function chooseEndpoints(
  db: Database,
  { limit, active }: { limit: number; active: ActiveByOwner },
  now: number,
): Promise<DueEndpoint[]> {
  const waiting = selectWaiting(db, active, now);
  const ranked = db.selectFrom(waiting.as('waiting')).select(({ fn }) => [
    'id',
    'owner',
    'due_at',
    fn
      .agg<number>('row_number')
      .over((rows) => rows.partitionBy('owner').orderBy('due_at'))
      .as('rank'),
  ]);
  const rows = await db
    .selectFrom(ranked.as('ranked'))
    .select(['id', 'owner', 'rank'])
    .where('rank', '<=', MAX_PER_OWNER)
    .orderBy('rank')
    .orderBy('due_at')
    .limit(limit)
    .execute();
  return rows.filter(({ owner, rank }) => Number(rank) <= slotsLeft(active, owner));
}

/** Leaves out owners without a free slot, so that their endpoints do not fill the candidates. */
function selectWaiting(db: Database, active: ActiveByOwner, now: number) {
  const full = [...active.keys()].filter((owner) => slotsLeft(active, owner) <= 0);
  const waiting = selectDue(db, now)
    .innerJoin('apps', 'apps.id', 'endpoints.app_id')
    .select(({ fn, val }) => [
      'endpoints.id',
      'endpoints.due_at',
      fn.coalesce('apps.owner_business_id', val(PLATFORM)).as('owner'),
    ])
    .orderBy('endpoints.due_at')
    .limit(CANDIDATES);
  if (full.length === 0) return waiting;
  return waiting.where(({ fn, val }) => fn.coalesce('apps.owner_business_id', val(PLATFORM)), 'not in', full);
}

function slotsLeft(active: ActiveByOwner, owner: string): number {
  return MAX_PER_OWNER - (active.get(owner) ?? 0);
}

/** Only this node sends to it, until the lease ends. */
export interface ClaimedEndpoint extends Endpoint {
  /** The current secret, and the previous one while both sign. */
  secrets: string[];
  lease: number;
  owner: string;
}

/**
 * Makes the endpoint due at this time, or at the end of its backoff. Writes to the row in any case and so locks it: a
 * release at the same time waits, and then sees the new `due_at`.
 */
export async function schedule(db: Database, id: string, at: number): Promise<void> {
  await updateEndpoints(db, [id])
    .set(({ eb, or }) => ({
      due_at: eb
        .case()
        .when(or([eb('due_at', 'is', null), eb('due_at', '>', at)]))
        .then(eb.case().when('backoff_until', '>', at).then(eb.ref('backoff_until')).else(eb.val(at)).end())
        .else(eb.ref('due_at'))
        .end(),
    }))
    .execute();
}

/** For test events and resends, which are sent at once. */
export async function endBackoff(db: Database, id: string): Promise<void> {
  await updateEndpoints(db, [id]).set({ backoff_until: 0 }).execute();
}

/**
 * Claims those endpoints that no other node has claimed in the meantime. Needs a transaction. They are due again at the
 * end of the lease, so that another node takes them if this one crashes.
 */
export async function claimEndpoints(
  db: Database,
  keys: Keyring,
  { chosen, lease }: { chosen: DueEndpoint[]; lease: number },
  now: number,
): Promise<ClaimedEndpoint[]> {
  const owners = new Map(chosen.map(({ id, owner }) => [id, owner]));
  const due = await selectDue(db, now)
    .selectAll()
    .where('id', 'in', [...owners.keys()])
    .orderBy('due_at')
    .forUpdate()
    .skipLocked()
    .execute();
  if (due.length === 0) return [];
  const ids = due.map(({ id }) => id);
  await updateEndpoints(db, ids).set({ claimed_until: lease, due_at: lease }).execute();
  return due.map((row) => ({
    ...fromRow(row),
    lease,
    owner: owners.get(row.id) ?? '',
    secrets: secretsOf(keys, row, now),
  }));
}

/**
 * Ends the claim. `dueAt` is when the next delivery is due; `schedule` may have set an earlier time during the claim.
 * With nothing left to send, the count of failures restarts.
 */
export async function releaseEndpoint(
  db: Database,
  { id, lease }: ClaimedEndpoint,
  { dueAt, backoffUntil }: { dueAt: number | null; backoffUntil: number },
): Promise<void> {
  await updateEndpoints(db, [id])
    .set(({ eb }) => ({
      claimed_until: 0,
      backoff_until: backoffUntil,
      due_at: eb.case().when('due_at', '=', lease).then(eb.val(dueAt)).else(eb.ref('due_at')).end(),
      ...(dueAt === null && { failing_since: null, failures: 0 }),
    }))
    .where('claimed_until', '=', lease)
    .execute();
}

export async function recordSuccess(db: Database, { id, failingSince }: Endpoint): Promise<void> {
  if (failingSince === null) return;
  await updateEndpoints(db, [id]).set({ failing_since: null, failures: 0 }).execute();
}

/** Returns the backoff in milliseconds; undefined if the endpoint was removed, or disabled after failing for days. */
export async function recordFailure(
  db: Database,
  { id }: Endpoint,
  chance: number,
  now: number,
): Promise<number | undefined> {
  const row = await updateEndpoints(db, [id])
    .set(({ eb, fn, val }) => ({
      failures: eb('failures', '+', 1),
      failing_since: fn.coalesce('failing_since', val(now)),
    }))
    .returning(['failures', 'failing_since'])
    .executeTakeFirst();
  if (!row) return undefined;
  const failingFor = now - (row.failing_since ?? now);
  if (!shouldDisable({ failingFor, failures: row.failures })) return backoffAfter(row.failures, chance);
  await switchEndpointOff(db, id, 'failing', now);
  return undefined;
}

/** False if the endpoint was removed, disabled, moved to another URL or claimed by another node. */
export async function isStillClaimed(db: Database, { id, url, lease }: ClaimedEndpoint): Promise<boolean> {
  const row = await db
    .selectFrom('endpoints')
    .select('id')
    .where('id', '=', id)
    .where('url', '=', url)
    .where('claimed_until', '=', lease)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  return row !== undefined;
}

/** The delay after each failed attempt: about three days in total. */
const DELAYS = [5 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, DAY];

/** An endpoint is switched off after failing for this long, with at least `MIN_FAILURES` and no success. */
export const DISABLED_AFTER = 3 * DAY;
const MIN_FAILURES = 10;

/** After this time, the pages of the app warn that deliveries fail. */
export const WARNED_AFTER = DAY;

const MAX_BACKOFF = 5 * MINUTE;

/** Two failures far apart are not enough: in between, there may have been nothing to send. */
function shouldDisable({ failingFor, failures }: { failingFor: number; failures: number }): boolean {
  return failingFor >= DISABLED_AFTER && failures >= MIN_FAILURES;
}

/** Null after the last attempt. `chance` is from 0 to 1. */
export function nextAttemptAt(attempts: number, chance: number, now: number): number | null {
  const delay = DELAYS[attempts - 1];
  return delay === undefined ? null : now + withJitter(delay, chance);
}

/** Grows exponentially, so an endpoint that is down costs little, however many deliveries are due. */
function backoffAfter(failures: number, chance: number): number {
  return failures === 0 ? 0 : withJitter(Math.min(MAX_BACKOFF, SECOND * 2 ** (failures - 1)), chance);
}

/** Plus or minus 20 %, so that deliveries that failed together are not all retried together. */
function withJitter(delay: number, chance: number): number {
  return Math.round(delay * (0.8 + 0.4 * chance));
}
