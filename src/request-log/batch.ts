import { isError, isFromStranger, type NewRequest } from './logged-requests.ts';
import type { RequestContext } from './request-context.ts';
import { type HourOfCounts, hourOf } from './request-counts.ts';
import { keyOf, type NewScopeUse } from './scope-uses.ts';

/** A request that has been answered. */
export interface AnsweredRequest {
  method: string;
  route: string;
  status: number;
  reason: string | null;
  requestId: string;
  took: number;
}

/** The newest requests of each app: so many of one, and so many in all. */
interface Shelf {
  byApp: Map<string, Ring>;
  count: number;
  mostPerApp: number;
  most: number;
}

/** Once it is full, the newest takes the place of the oldest: to move all of them along would take longer than all else here. */
interface Ring {
  requests: NewRequest[];
  oldest: number;
}

/** What has been noted and not stored yet. However long the database is away, it takes up only so much room. */
export interface Batch {
  requests: Shelf;
  wrongSecrets: Shelf;
  counts: Map<string, HourOfCounts>;
  uses: Map<string, NewScopeUse>;
  /** What there was no room for. */
  dropped: number;
}

const MOST_KEYS = 20_000;

/** Of what one app asks for at once, only the newest are logged; the rest is counted. */
export function emptyBatch(): Batch {
  return {
    requests: { byApp: new Map(), count: 0, mostPerApp: 100, most: 10_000 },
    wrongSecrets: { byApp: new Map(), count: 0, mostPerApp: 20, most: 1000 },
    counts: new Map(),
    uses: new Map(),
    dropped: 0,
  };
}

export function isEmpty({ requests, wrongSecrets, counts }: Batch): boolean {
  return requests.count === 0 && wrongSecrets.count === 0 && counts.size === 0;
}

export function countRequests({ counts }: Batch): number {
  return counts.values().reduce((sum, { requests }) => sum + requests, 0);
}

/** All that is to be logged, by app. */
export function requestsByApp({ requests, wrongSecrets }: Batch): Map<string, NewRequest[]> {
  const all = new Map<string, NewRequest[]>();
  for (const { byApp } of [requests, wrongSecrets]) {
    for (const [appId, ring] of byApp) all.set(appId, [...(all.get(appId) ?? []), ...inOrder(ring)]);
  }
  return all;
}

function inOrder({ requests, oldest }: Ring): NewRequest[] {
  return [...requests.slice(oldest), ...requests.slice(0, oldest)];
}

/** Nothing here waits for anything: a request must not take longer because it is noted. */
export function noteRequest(
  batch: Batch,
  appId: string,
  answered: AnsweredRequest,
  context: RequestContext,
  now: number,
) {
  const { method, route, status, reason, requestId, took } = answered;
  const { businessId = null, userId, scope, grantType = null, usedPkce = false } = context;
  const errors = isError(answered) ? 1 : 0;
  const refreshes = grantType === 'refresh_token' && !errors ? 1 : 0;
  const exchanges = grantType === 'authorization_code' && !errors ? 1 : 0;
  const pkceExchanges = usedPkce ? exchanges : 0;
  keepRequest(batch, { appId, at: now, method, route, grantType, status, reason, requestId, businessId, took });
  // What anyone can send would drown what the app itself does.
  if (isFromStranger(answered)) return;
  keepCounts(batch, { appId, hour: hourOf(now), requests: 1, errors, refreshes, exchanges, pkceExchanges });
  if (scope === undefined || userId === undefined || businessId === null || errors) return;
  keepUse(batch, { businessId, appId, userId, scope, uses: 1, lastAt: now });
}

/** One batch out of two. */
export function merge(older: Batch, newer: Batch): Batch {
  for (const requests of requestsByApp(newer).values()) for (const request of requests) keepRequest(older, request);
  for (const counts of newer.counts.values()) keepCounts(older, counts);
  for (const use of newer.uses.values()) keepUse(older, use);
  older.dropped += newer.dropped;
  return older;
}

export function keepRequest(batch: Batch, request: NewRequest): void {
  const shelf = isFromStranger(request) ? batch.wrongSecrets : batch.requests;
  const ring = shelf.byApp.get(request.appId);
  if (ring?.requests.length === shelf.mostPerApp) {
    ring.requests[ring.oldest] = request;
    ring.oldest = (ring.oldest + 1) % shelf.mostPerApp;
    return;
  }
  if (shelf.count === shelf.most) return;
  shelf.count += 1;
  if (ring) ring.requests.push(request);
  else shelf.byApp.set(request.appId, { requests: [request], oldest: 0 });
}

export function keepCounts(batch: Batch, more: HourOfCounts): void {
  const key = `${more.appId} ${more.hour}`;
  const counts = batch.counts.get(key);
  if (counts) {
    counts.requests += more.requests;
    counts.errors += more.errors;
    counts.refreshes += more.refreshes;
    counts.exchanges = (counts.exchanges ?? 0) + (more.exchanges ?? 0);
    counts.pkceExchanges = (counts.pkceExchanges ?? 0) + (more.pkceExchanges ?? 0);
  } else if (batch.counts.size < MOST_KEYS) batch.counts.set(key, { ...more });
  else batch.dropped += more.requests;
}

export function keepUse(batch: Batch, more: NewScopeUse): void {
  const key = keyOf(more);
  const use = batch.uses.get(key);
  if (use) {
    use.uses += more.uses;
    use.lastAt = Math.max(use.lastAt, more.lastAt);
  } else if (batch.uses.size < MOST_KEYS) batch.uses.set(key, { ...more });
  else batch.dropped += more.uses;
}
