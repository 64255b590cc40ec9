import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { SECOND } from './clock.ts';
import { isLoopbackAddress, isPublicAddress, withoutBrackets } from './ip-addresses.ts';
import { replaceControls } from './names.ts';

interface OutboundRequest {
  url: string;
  headers: Record<string, string>;
  /** For the whole exchange, in milliseconds. */
  timeout: number;
  /** For development: also allow loopback addresses. */
  allowsLoopback: boolean;
}

export interface OutboundPost extends OutboundRequest {
  body: string;
}

/** The body is not read: the URL is chosen by an app developer, who must not be able to read internal services. */
interface OutboundResponse {
  status: number;
  /** The status line and the headers, cut at 1 kB. */
  head: string;
}

interface OutboundGet extends OutboundRequest {
  /** The limit of the body, in bytes. */
  maxLength: number;
}

interface OutboundDocument {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** The host resolves to an address outside the public internet. */
export class ForbiddenAddress extends Error {}

export class BodyTooLarge extends Error {}

const MAX_HEAD_LENGTH = 1024;
/** Node accepts any number of interim responses (1xx), so a receiver could keep the request open. */
const MAX_INTERIM_RESPONSES = 10;

/** Posts to a URL that an app developer chose, guarding against SSRF. Redirects are not followed. */
export function postToPublicAddress(post: OutboundPost): Promise<OutboundResponse> {
  return exchange(post, { method: 'POST', body: post.body }, (response) => {
    response.destroy();
    return { status: response.statusCode ?? 0, head: headOf(response) };
  });
}

/** Fetches a URL that a caller chose, guarding against SSRF. Only the body of a 200 is read. */
export function getFromPublicAddress(get: OutboundGet): Promise<OutboundDocument> {
  return exchange(get, { method: 'GET', body: '' }, async (response) => {
    const { statusCode: status = 0, headers } = response;
    if (status !== 200) response.destroy();
    return { status, headers, body: status === 200 ? await readBody(response, get.maxLength) : '' };
  });
}

type Receive<Result> = (response: IncomingMessage) => Result | Promise<Result>;

async function exchange<Result>(
  request: OutboundRequest,
  message: { method: string; body: string },
  receive: Receive<Result>,
): Promise<Result> {
  const signal = AbortSignal.timeout(request.timeout);
  try {
    return await send({ ...request, ...message }, await resolveAllowed(request, signal), { signal, receive });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/** Every address of the host must be allowed, not just one. */
async function resolveAllowed({ url, allowsLoopback }: OutboundRequest, signal: AbortSignal): Promise<LookupAddress[]> {
  const { hostname } = new URL(url);
  const isAllowed = (address: string) => isPublicAddress(address) || (allowsLoopback && isLoopbackAddress(address));
  const addresses = await resolveHost(hostname, signal);
  const wrong = addresses.find(({ address }) => !isAllowed(address));
  if (wrong || addresses.length === 0) {
    throw new ForbiddenAddress(`${wrong?.address ?? hostname} is not an address of the public internet.`);
  }
  return addresses;
}

/** Connects to the addresses that were checked. A second lookup could return others (DNS rebinding). */
function send<Result>(
  { url, method, headers, body }: OutboundRequest & { method: string; body: string },
  addresses: LookupAddress[],
  { signal, receive }: { signal: AbortSignal; receive: Receive<Result> },
): Promise<Result> {
  const startRequest = new URL(url).protocol === 'https:' ? requestHttps : requestHttp;
  const request = startRequest(url, {
    method,
    headers: method === 'GET' ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
    lookup: fixedLookup(addresses),
    agent: false,
    signal,
    maxHeaderSize: 16 * 1024,
  });
  return new Promise((resolve, reject) => {
    request.once('error', reject);
    request.once('upgrade', (_, socket) => socket.destroy());
    const rejectClosed = () => reject(new Error('The connection was closed without a response.'));
    request.once('close', rejectClosed);
    let interim = 0;
    request.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM_RESPONSES) request.destroy(new Error('There were too many interim responses.'));
    });
    request.once('response', (response) => {
      // The request may close before the body has been read from the response.
      request.off('close', rejectClosed);
      resolve(receive(response));
    });
    request.end(body);
  });
}

async function readBody(response: IncomingMessage, maxLength: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  // An error ends the loop, which destroys the response.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxLength) throw new BodyTooLarge(`The body is longer than ${maxLength} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : []));
  return replaceControls([`${statusCode} ${statusMessage}`, ...lines].join('\n')).slice(0, MAX_HEAD_LENGTH);
}

function fixedLookup(addresses: LookupAddress[]): LookupFunction {
  return (_, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, addresses);
    else callback(null, first?.address ?? '', first?.family);
  };
}

/** For all queries about one host. */
const DNS_TIMEOUT = 5 * SECOND;

const LOCALHOST: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * All addresses of a host, by c-ares. `dns.lookup` would occupy a thread of libuv's pool, which passwords and files need,
 * for as long as the DNS server takes. Each host has its own resolver, so a timeout cancels no other query.
 */
async function resolveHost(hostname: string, signal: AbortSignal): Promise<LookupAddress[]> {
  const literal = withoutBrackets(hostname);
  const family = isIP(literal);
  if (family !== 0) return [{ address: literal, family }];
  // RFC 6761 §6.3: not resolved by DNS.
  if (/^(.+\.)?localhost\.?$/.test(hostname)) return LOCALHOST;
  const resolver = new Resolver({ timeout: DNS_TIMEOUT / 4, tries: 3 });
  const cancel = () => resolver.cancel();
  const timer = setTimeout(cancel, DNS_TIMEOUT);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await resolveBothFamilies(resolver, hostname);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
  }
}

/** Fails only if both queries fail: many hosts have addresses of one family only. */
async function resolveBothFamilies(resolver: Resolver, hostname: string): Promise<LookupAddress[]> {
  const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  if (ipv4.status === 'rejected' && ipv6.status === 'rejected') throw ipv4.reason;
  return [
    ...(ipv4.status === 'fulfilled' ? ipv4.value.map((address) => ({ address, family: 4 })) : []),
    ...(ipv6.status === 'fulfilled' ? ipv6.value.map((address) => ({ address, family: 6 })) : []),
  ];
}
