import { type HourlyCounts, hourOf, type NewScopeUse, scopeUseKey } from './counts.ts';
import { KINDS, type Kind, kindOf, type NewRequest, type RequestContext } from './log.ts';

export type RecordedRequest = Pick<NewRequest, 'method' | 'route' | 'status' | 'reason' | 'requestId' | 'took'>;

/** The newest requests of each app, with a limit per app and one for all. */
interface RequestBuffer {
  byApp: Map<string, Ring>;
  count: number;
  maxPerApp: number;
  max: number;
}

/** A ring buffer: once it is full, the newest request overwrites the oldest. */
interface Ring {
  requests: NewRequest[];
  oldest: number;
}

/** Recorded and not stored yet. Its size is bounded, however long the database is unavailable. */
export interface Batch {
  requests: Record<Kind, RequestBuffer>;
  counts: Map<string, HourlyCounts>;
  uses: Map<string, NewScopeUse>;
  /** Requests and uses that exceeded the bounds. */
  dropped: number;
}

const MAX_KEYS = 20_000;

/** Only the newest of many requests of one app are logged; all are counted. */
export function emptyBatch(): Batch {
  return {
    requests: {
      authenticated: emptyBuffer(100, 10_000),
      wrongSecret: emptyBuffer(20, 1000),
      rejectedAuthorization: emptyBuffer(20, 1000),
    },
    counts: new Map(),
    uses: new Map(),
    dropped: 0,
  };
}

function emptyBuffer(maxPerApp: number, max: number): RequestBuffer {
  return { byApp: new Map(), count: 0, maxPerApp, max };
}

export function isEmpty({ requests, counts }: Batch): boolean {
  return KINDS.every((kind) => requests[kind].count === 0) && counts.size === 0;
}

export function countRequests({ counts }: Batch): number {
  return counts.values().reduce((sum, { requests }) => sum + requests, 0);
}

export function requestsByApp({ requests }: Batch): Map<string, NewRequest[]> {
  const all = new Map<string, NewRequest[]>();
  for (const kind of KINDS) {
    for (const [appId, ring] of requests[kind].byApp) all.set(appId, [...(all.get(appId) ?? []), ...inOrder(ring)]);
  }
  return all;
}

function inOrder({ requests, oldest }: Ring): NewRequest[] {
  return [...requests.slice(oldest), ...requests.slice(0, oldest)];
}

/** A request that is not in the batch yet. */
export interface Recorded {
  appId: string;
  at: number;
  request: RecordedRequest;
  context: RequestContext;
}

export function addToBatch(batch: Batch, { appId, at, request, context }: Recorded): void {
  const { status } = request;
  const { businessId = null, userId, scope, scopeUsedBy = appId, grantType = null, usedPkce = false } = context;
  const recorded = { ...request, appId, at, grantType, businessId, rejected: context.rejected };
  const errors = status >= 400 ? 1 : 0;
  const refreshes = grantType === 'refresh_token' && !errors ? 1 : 0;
  const exchanges = grantType === 'authorization_code' && !errors ? 1 : 0;
  const pkceExchanges = usedPkce ? exchanges : 0;
  addRequest(batch, recorded);
  // Anyone can send the others, so they are not counted as the app's own.
  if (kindOf(recorded) !== 'authenticated') return;
  addToCounts(batch, { appId, hour: hourOf(at), requests: 1, errors, refreshes, exchanges, pkceExchanges });
  if (scope === undefined || userId === undefined || businessId === null || errors) return;
  addToUses(batch, { businessId, appId: scopeUsedBy, userId, scope, uses: 1, lastAt: at });
}

export function mergeBatches(older: Batch, newer: Batch): Batch {
  for (const requests of requestsByApp(newer).values()) for (const request of requests) addRequest(older, request);
  for (const counts of newer.counts.values()) addToCounts(older, counts);
  for (const use of newer.uses.values()) addToUses(older, use);
  older.dropped += newer.dropped;
  return older;
}

export function addRequest(batch: Batch, request: NewRequest): void {
  const buffer = batch.requests[kindOf(request)];
  const ring = buffer.byApp.get(request.appId);
  if (ring?.requests.length === buffer.maxPerApp) {
    ring.requests[ring.oldest] = request;
    ring.oldest = (ring.oldest + 1) % buffer.maxPerApp;
    return;
  }
  if (buffer.count === buffer.max) return;
  buffer.count += 1;
  if (ring) ring.requests.push(request);
  else buffer.byApp.set(request.appId, { requests: [request], oldest: 0 });
}

export function addToCounts(batch: Batch, more: HourlyCounts): void {
  const key = `${more.appId} ${more.hour}`;
  const counts = batch.counts.get(key);
  if (counts) {
    counts.requests += more.requests;
    counts.errors += more.errors;
    counts.refreshes += more.refreshes;
    counts.exchanges = (counts.exchanges ?? 0) + (more.exchanges ?? 0);
    counts.pkceExchanges = (counts.pkceExchanges ?? 0) + (more.pkceExchanges ?? 0);
  } else if (batch.counts.size < MAX_KEYS) batch.counts.set(key, { ...more });
  else batch.dropped += more.requests;
}

export function addToUses(batch: Batch, more: NewScopeUse): void {
  const key = scopeUseKey(more);
  const use = batch.uses.get(key);
  if (use) {
    use.uses += more.uses;
    use.lastAt = Math.max(use.lastAt, more.lastAt);
  } else if (batch.uses.size < MAX_KEYS) batch.uses.set(key, { ...more });
  else batch.dropped += more.uses;
}
