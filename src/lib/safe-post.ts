import type { LookupAddress } from 'node:dns';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { lookUp } from './look-up.ts';
import { withoutControls } from './plain-text.ts';
import { isLoopbackAddress, isPublicAddress } from './public-addresses.ts';

export interface SafePost {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** For all of it, in milliseconds. */
  timeout: number;
  /** For development: whether an address of this very machine may be reached, too. */
  allowsLoopback: boolean;
}

/** What came back. The body is not read: whoever chose the address could make us fetch something for them. */
interface Posted {
  status: number;
  /** The status line and the headers, as far as 1 kB goes. */
  head: string;
}

/** The address leads somewhere else than the public internet. */
export class AddressRefused extends Error {}

const LONGEST_HEAD = 1024;
/** Interim answers (1xx) have no end of their own: whoever sends many would keep everyone else waiting. */
const MOST_INTERIM = 10;

/** Sends to an address that a stranger chose. No redirect is followed. */
export async function postSafely(post: SafePost): Promise<Posted> {
  const signal = AbortSignal.timeout(post.timeout);
  const addresses = await findAllowed(post, signal).catch((error) => {
    throw signal.aborted ? signal.reason : error;
  });
  return send(post, addresses, signal);
}

/** All addresses of a name must be allowed: one that mixes the two is up to something. */
async function findAllowed({ url, allowsLoopback }: SafePost, signal: AbortSignal): Promise<LookupAddress[]> {
  const { hostname } = new URL(url);
  const isAllowed = (address: string) => isPublicAddress(address) || (allowsLoopback && isLoopbackAddress(address));
  const addresses = await lookUp(hostname, signal);
  const wrong = addresses.find(({ address }) => !isAllowed(address));
  if (wrong || addresses.length === 0) {
    throw new AddressRefused(`${wrong?.address ?? hostname} is not an address of the public internet.`);
  }
  return addresses;
}

/** Connects to what was checked: the name is not looked up again, so there is no second answer of DNS to wait for. */
function send({ url, headers, body }: SafePost, addresses: LookupAddress[], signal: AbortSignal): Promise<Posted> {
  const begin = new URL(url).protocol === 'https:' ? requestHttps : requestHttp;
  const request = begin(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    lookup: answerWith(addresses),
    agent: false,
    signal,
    maxHeaderSize: 16 * 1024,
  });
  return new Promise((resolve, reject) => {
    request.once('error', (error) => reject(signal.aborted ? signal.reason : error));
    request.once('upgrade', (_, socket) => socket.destroy());
    // Whatever else ends it without an answer; after one, this comes too late to matter.
    request.once('close', () => reject(new Error('The connection was closed without an answer.')));
    let interim = 0;
    request.on('information', () => {
      interim += 1;
      if (interim > MOST_INTERIM) request.destroy(new Error('There were too many interim answers.'));
    });
    request.once('response', (response) => {
      resolve({ status: response.statusCode ?? 0, head: headOf(response) });
      response.destroy();
    });
    request.end(body);
  });
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, place) => (place % 2 === 0 ? [`${name}: ${rawHeaders[place + 1]}`] : []));
  return withoutControls([`${statusCode} ${statusMessage}`, ...lines].join('\n')).slice(0, LONGEST_HEAD);
}

function answerWith(addresses: LookupAddress[]): LookupFunction {
  return (_, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, addresses);
    else callback(null, first?.address ?? '', first?.family);
  };
}
