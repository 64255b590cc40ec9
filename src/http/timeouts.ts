import { SECOND } from '../lib/clock.ts';

/** Options of Node's `http.Server` (`connectionTimeout` is Fastify's name for its `timeout`), in milliseconds. */
export interface ServerTimeouts {
  headersTimeout: number;
  requestTimeout: number;
  /** Without a byte in either direction during a request. */
  connectionTimeout: number;
  /** Longer than proxies keep an idle connection, so that a proxy never sends on one that is being closed. */
  keepAliveTimeout: number;
  connectionsCheckingInterval: number;
  /** Per host. Further connections are closed at once. */
  maxConnections: number;
}

export const SERVER_TIMEOUTS: ServerTimeouts = {
  headersTimeout: 10 * SECOND,
  requestTimeout: 30 * SECOND,
  connectionTimeout: 60 * SECOND,
  keepAliveTimeout: 72 * SECOND,
  connectionsCheckingInterval: SECOND,
  maxConnections: 10_000,
};

/**
 * Requests get a 503 while the mean event loop delay of the last interval exceeds the maximum, and at least `minRequests`
 * are in progress: few requests on a slow machine are served slowly, not rejected. A single stall is not overload either:
 * the mean includes the many short delays before and after it.
 */
export interface OverloadLimit {
  /** In milliseconds; 0 turns it off. */
  maxEventLoopDelay: number;
  /** In milliseconds. */
  sampleInterval: number;
  minRequests: number;
}

export const OVERLOAD_LIMIT: OverloadLimit = {
  maxEventLoopDelay: SECOND / 2,
  sampleInterval: SECOND,
  minRequests: 100,
};
