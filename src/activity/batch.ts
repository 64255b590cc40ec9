import type { Involved } from './involved.ts';
import { isError, type NewRequest } from './logged-requests.ts';
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

/** What has been noted and not stored yet. However long the database is away, it takes up only so much room. */
export interface Batch {
  /** By app. */
  requests: Map<string, NewRequest[]>;
  requestCount: number;
  counts: Map<string, HourOfCounts>;
  uses: Map<string, NewScopeUse>;
  /** What there was no room for. */
  dropped: number;
}

/** Of what one app asks for at once, only the newest are logged; the rest is counted. */
export const MOST_PER_APP = 100;
const MOST_REQUESTS = 10_000;
const MOST_KEYS = 20_000;

export function emptyBatch(): Batch {
  return { requests: new Map(), requestCount: 0, counts: new Map(), uses: new Map(), dropped: 0 };
}

/** Nothing here waits for anything: a request must not take longer because it is noted. */
export function noteRequest(batch: Batch, appId: string, answered: AnsweredRequest, involved: Involved, now: number) {
  const { businessId = null, userId, scope, grantType = null } = involved;
  const errors = isError(answered) ? 1 : 0;
  const refreshes = grantType === 'refresh_token' && !errors ? 1 : 0;
  keepRequest(batch, { appId, at: now, grantType, businessId, ...answered });
  keepCounts(batch, { appId, hour: hourOf(now), requests: 1, errors, refreshes });
  if (scope === undefined || userId === undefined || businessId === null || errors) return;
  keepUse(batch, { businessId, appId, userId, scope, uses: 1, lastAt: now });
}

/** One batch out of two. */
export function merge(older: Batch, newer: Batch): Batch {
  for (const requests of newer.requests.values()) for (const request of requests) keepRequest(older, request);
  for (const counts of newer.counts.values()) keepCounts(older, counts);
  for (const use of newer.uses.values()) keepUse(older, use);
  older.dropped += newer.dropped;
  return older;
}

function keepRequest(batch: Batch, request: NewRequest): void {
  const ofApp = batch.requests.get(request.appId) ?? [];
  if (ofApp.length === MOST_PER_APP) ofApp.shift();
  else if (batch.requestCount < MOST_REQUESTS) batch.requestCount += 1;
  else return;
  ofApp.push(request);
  batch.requests.set(request.appId, ofApp);
}

function keepCounts(batch: Batch, more: HourOfCounts): void {
  const key = `${more.appId} ${more.hour}`;
  const counts = batch.counts.get(key);
  if (counts) {
    counts.requests += more.requests;
    counts.errors += more.errors;
    counts.refreshes += more.refreshes;
  } else if (batch.counts.size < MOST_KEYS) batch.counts.set(key, { ...more });
  else batch.dropped += more.requests;
}

function keepUse(batch: Batch, more: NewScopeUse): void {
  const key = keyOf(more);
  const use = batch.uses.get(key);
  if (use) {
    use.uses += more.uses;
    use.lastAt = Math.max(use.lastAt, more.lastAt);
  } else if (batch.uses.size < MOST_KEYS) batch.uses.set(key, { ...more });
  else batch.dropped += more.uses;
}
