/** How to reach Gatehouse, and what is cached. */
export interface GuardOptions {
  /** The address of Gatehouse's API (`BASE_URL`), such as `https://api.example.com`. */
  issuer: string;
  /** The credentials of an app. One in `INTROSPECTION_CLIENTS` may introspect the access tokens of every app. */
  clientId: string;
  clientSecret: string;
  /** For how long a revoked token may still be accepted; 15 by default, 60 at most, 0 for no cache. */
  cacheSeconds?: number | undefined;
  /** 10,000 by default. */
  maxEntries?: number | undefined;
  /** The time limit of each request to Gatehouse, in milliseconds; 5,000 by default. */
  timeout?: number | undefined;
  /** Receives the reason of every 500 and 503, and why scopes could not be checked. The default writes it to the console. It contains no secret. */
  onError?: ((error: Error) => void) | undefined;
  /** Milliseconds since 1970, for tests. */
  clock?: (() => number) | undefined;
  /** Replaces the `fetch` of the platform. */
  fetch?: typeof fetch | undefined;
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
/** RFC 6749 §3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Messages contain no values: they may be secrets. */
export function readOptions(options: GuardOptions) {
  const { clientId, clientSecret, cacheSeconds = 15, maxEntries = 10_000, timeout = 5000 } = options;
  return {
    issuer: readIssuer(options.issuer),
    credentials: { client_id: readText(clientId, 'clientId'), client_secret: readText(clientSecret, 'clientSecret') },
    cacheTime: readNumber(cacheSeconds, 'cacheSeconds', { min: 0, max: 60 }) * 1000,
    maxEntries: readNumber(maxEntries, 'maxEntries', { min: 1, max: 1_000_000 }),
    timeout: readNumber(timeout, 'timeout', { min: 1, max: 60_000 }),
    onError: options.onError ?? ((error: Error) => console.error(`@gatehouse/guard: ${error.message}`)),
    clock: options.clock ?? Date.now,
    fetch: options.fetch ?? ((url: RequestInfo | URL, init?: RequestInit) => fetch(url, init)),
  };
}

export function readScope(scope: unknown): string {
  if (isScope(scope)) return scope;
  throw new TypeError('scope must be one scope name.');
}

export function isScope(value: unknown): value is string {
  return typeof value === 'string' && SCOPE.test(value);
}

function readIssuer(value: unknown): string {
  const url = typeof value === 'string' && /^https?:\/\/[^\s/\\?#@]+\/?$/i.test(value) ? new URL(value) : undefined;
  if (url && (url.protocol === 'https:' || LOOPBACK.includes(url.hostname))) return url.origin;
  throw new TypeError('issuer must be an https origin such as https://api.example.com (or http on localhost).');
}

function readText(value: unknown, name: string): string {
  if (typeof value === 'string' && /^[^\s\p{Cc}]+$/u.test(value)) return value;
  throw new TypeError(`${name} must be text without spaces, and not empty.`);
}

function readNumber(value: unknown, name: string, { min, max }: { min: number; max: number }): number {
  if (typeof value === 'number' && value >= min && value <= max) return value;
  throw new TypeError(`${name} must be a number from ${min} to ${max}.`);
}
