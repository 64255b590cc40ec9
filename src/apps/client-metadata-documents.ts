import type { IncomingHttpHeaders } from 'node:http';
import { type Clock, DAY, MINUTE, SECOND } from '../lib/clock.ts';
import { Overloaded } from '../lib/errors.ts';
import { isLoopbackHost, networkOf } from '../lib/ip-addresses.ts';
import { BodyTooLarge, getFromPublicAddress } from '../lib/outbound-http.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import { semaphore } from '../lib/semaphore.ts';
import { type ClientMetadata, InvalidClientMetadata, readDocument } from './client-metadata.ts';

/** Three times what the draft recommends, because a document may contain public keys. */
const MAX_LENGTH = 16 * 1024;
const MAX_CACHED = 1000;
/** The rows of apps have an index on it, and PostgreSQL limits the size of its entries. */
const MAX_URL_LENGTH = 2000;
/** RFC 9111 §4.2.2: for a document whose headers say nothing about caching. */
const DEFAULT_FRESHNESS = 5 * MINUTE;
const MAX_FRESHNESS = DAY;
/** How long after its expiry a document is used while no more can be fetched (RFC 9111 §4.2.4). */
const MAX_STALENESS = DAY;
/** One authorization reads the document up to five times: each of its pages checks the request. */
const MIN_FRESHNESS = 30 * SECOND;

export interface DocumentOptions {
  /** The hosts whose documents are accepted. */
  hosts: 'any' | readonly string[];
  /** The URLs of this server, which describe no app. */
  ownUrls: readonly string[];
  /** For development: also documents on this machine, by http. */
  allowsLoopback: boolean;
  privateSchemes: readonly string[];
  /** For the whole fetch, from the DNS lookup on, in milliseconds. */
  timeout: number;
  /** Fetches for callers of one network. */
  limit: RateLimit;
  clock: Clock;
}

export interface ClientMetadataDocuments {
  /** `address` is the caller's. Throws `InvalidClientMetadata` if there is no usable document. */
  load(clientId: string, address: string): Promise<ClientMetadata>;
}

/**
 * OAuth Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document): the `client_id` is the URL of a document
 * that describes the client. Fetched documents are cached in the memory of this process; errors are not (§4.4).
 */
export function createClientMetadataDocuments(options: DocumentOptions): ClientMetadataDocuments {
  const { limit, clock } = options;
  const cached = new Map<string, { metadata: ClientMetadata; expiresAt: number }>();
  const pending = new Map<string, Promise<ClientMetadata>>();
  const withSlot = semaphore({ concurrency: 32, maxQueue: 256 });

  async function fetchAndCache(url: string): Promise<ClientMetadata> {
    const { metadata, freshness } = await withSlot(() => fetchDocument(url, options));
    cached.delete(url);
    cached.set(url, { metadata, expiresAt: clock() + freshness });
    const [oldest] = cached.keys();
    if (cached.size > MAX_CACHED && oldest !== undefined) cached.delete(oldest);
    return metadata;
  }

  return {
    async load(clientId, address) {
      checkUrl(clientId, options);
      const known = cached.get(clientId);
      if (known && clock() < known.expiresAt) return known.metadata;
      await limit.count(networkOf(address));
      // Concurrent requests for one document share a fetch.
      const fetching = pending.get(clientId) ?? fetchAndCache(clientId).finally(() => pending.delete(clientId));
      pending.set(clientId, fetching);
      return fetching.catch((error) => {
        // Slow hosts can occupy all slots. Apps that are known stay usable meanwhile.
        if (error instanceof Overloaded && known && clock() < known.expiresAt + MAX_STALENESS) return known.metadata;
        throw error;
      });
    },
  };
}

/** §3. The URL is compared as text later, so it has to be in the form that a parser would write. */
function checkUrl(clientId: string, { hosts, ownUrls, allowsLoopback }: DocumentOptions): void {
  if (clientId.length > MAX_URL_LENGTH) {
    throw new InvalidClientMetadata('client_id', `client_id has to be a URL of at most ${MAX_URL_LENGTH} characters.`);
  }
  const url = URL.parse(clientId);
  const isLocal = allowsLoopback && url?.protocol === 'http:' && isLoopbackHost(url.hostname);
  if (!url || (url.protocol !== 'https:' && !isLocal) || url.href !== clientId || url.pathname === '/') {
    throw new InvalidClientMetadata(
      'client_id',
      'client_id has to be a complete https URL with a path, without dot segments.',
    );
  }
  // With a query, one document would be any number of apps, and an owner could not block them all.
  if (url.username || url.password || /[?#]/.test(clientId)) {
    throw new InvalidClientMetadata(
      'client_id',
      'client_id has to be a URL without user name, password, query and fragment.',
    );
  }
  // A fetch from this server would occupy it twice, and its authorize endpoint could be made to fetch again.
  if (ownUrls.some((own) => new URL(own).host === url.host.replace(/\.(?=:|$)/, ''))) {
    throw new InvalidClientMetadata('client_id', 'client_id has to be a URL of another server than this one.');
  }
  if (hosts === 'any' || hosts.includes(url.hostname)) return;
  throw new InvalidClientMetadata('client_id', `This server does not accept apps from ${url.hostname}.`);
}

async function fetchDocument(url: string, { allowsLoopback, privateSchemes, timeout }: DocumentOptions) {
  const get = { url, headers: { accept: 'application/json' }, timeout, allowsLoopback };
  const { status, headers, body } = await getFromPublicAddress({ ...get, maxLength: MAX_LENGTH }).catch((error) => {
    throw unreadable(describeFailure(error, timeout));
  });
  // §4: other statuses are errors, and redirects are not followed.
  if (status !== 200)
    throw unreadable(`Its URL responds with status ${status}; 200 is needed, and redirects are not followed.`);
  if (!/^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(headers['content-type'] ?? '')) {
    throw unreadable('Its content-type has to be application/json.');
  }
  const fields = parseObject(body);
  if (fields.client_id !== url) throw unreadable('The client_id in it is not the URL of the document.');
  const { hostname, host } = new URL(url);
  const metadata = readDocument(fields, { defaultName: hostname, host, privateSchemes });
  return { metadata, freshness: freshnessOf(headers) };
}

function unreadable(problem: string): InvalidClientMetadata {
  return new InvalidClientMetadata('client_id', `The client metadata document cannot be used. ${problem}`);
}

/** A private address and a host that does not exist get the same text: the caller may be exploring the internal network. */
function describeFailure(error: unknown, timeout: number): string {
  if (error instanceof BodyTooLarge) return `It is longer than ${MAX_LENGTH / 1024} kB.`;
  if (error instanceof Error && error.name === 'TimeoutError') return `It did not arrive within ${timeout / SECOND} s.`;
  return 'Its host has no public address, does not respond, or has no valid certificate.';
}

function parseObject(body: string): Record<string, unknown> {
  try {
    const value = JSON.parse(body);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Falls through to the error for JSON that is not an object.
  }
  throw unreadable('It is not a JSON object.');
}

/** RFC 9111 §4.2 and §5.2.2, within bounds (§4.4 of the draft), in milliseconds. Every user of this server shares the cache. */
function freshnessOf(headers: IncomingHttpHeaders): number {
  const directives = (headers['cache-control'] ?? '')
    .toLowerCase()
    .split(',')
    .map((each) => each.trim());
  if (directives.some((each) => /^(?:no-store|no-cache|private)(?:=|$)/.test(each))) return MIN_FRESHNESS;
  const lifetime = secondsOf(directives, 's-maxage') ?? secondsOf(directives, 'max-age') ?? expiryOf(headers);
  const age = Number(headers.age) || 0;
  const freshness = lifetime === undefined ? DEFAULT_FRESHNESS : (lifetime - age) * SECOND;
  return Math.min(Math.max(freshness, MIN_FRESHNESS), MAX_FRESHNESS);
}

function secondsOf(directives: string[], name: string): number | undefined {
  const [, digits] = directives.map((each) => new RegExp(`^${name}="?(\\d{1,10})"?$`).exec(each)).find(Boolean) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** §5.3: an invalid date is in the past. */
function expiryOf({ expires, date }: IncomingHttpHeaders): number | undefined {
  if (expires === undefined) return undefined;
  return (Date.parse(expires) - Date.parse(date ?? '')) / SECOND || 0;
}
