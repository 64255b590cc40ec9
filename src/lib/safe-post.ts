import { lookup } from 'node:dns';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
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
export interface Posted {
  status: number;
  /** The status line and the headers, as far as 1 kB goes. */
  head: string;
}

/** The address leads somewhere else than the public internet. */
export class AddressRefused extends Error {}

const LONGEST_HEAD = 1024;

/**
 * Sends to an address that a stranger chose. The look-up that the connection itself makes is the one that is checked,
 * so there is no second answer of DNS to wait for; and no redirect is followed.
 */
export function postSafely({ url, headers, body, timeout, allowsLoopback }: SafePost): Promise<Posted> {
  const { protocol, hostname } = new URL(url);
  const isAllowed = (address: string) => isPublicAddress(address) || (allowsLoopback && isLoopbackAddress(address));
  const literal = hostname.replace(/^\[|\]$/g, '');
  if (isIP(literal) && !isAllowed(literal)) return Promise.reject(refused(literal));
  const send = protocol === 'https:' ? requestHttps : requestHttp;
  const signal = AbortSignal.timeout(timeout);
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      lookup: checkedLookup(isAllowed),
      agent: false,
      signal,
      maxHeaderSize: 16 * 1024,
    });
    request.once('error', (error) => reject(signal.aborted ? signal.reason : error));
    request.once('upgrade', (_, socket) => socket.destroy());
    // Whatever else ends it without an answer; after one, this comes too late to matter.
    request.once('close', () => reject(new Error('The connection was closed without an answer.')));
    request.once('response', (response) => {
      const { statusCode: status = 0, statusMessage, rawHeaders } = response;
      const lines = rawHeaders.flatMap((name, place) => (place % 2 === 0 ? [`${name}: ${rawHeaders[place + 1]}`] : []));
      resolve({ status, head: [`${status} ${statusMessage}`, ...lines].join('\n').slice(0, LONGEST_HEAD) });
      response.destroy();
    });
    request.end(body);
  });
}

/** All addresses of a name must be allowed: one that mixes the two is up to something. */
function checkedLookup(isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const wrong = addresses?.find(({ address }) => !isAllowed(address));
      const [first] = addresses ?? [];
      if (error) callback(error, '');
      else if (wrong || !first) callback(refused(wrong?.address ?? hostname), '');
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function refused(address: string): AddressRefused {
  return new AddressRefused(`${address} is not an address of the public internet.`);
}
