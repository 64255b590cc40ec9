import { STATUS_CODES } from 'node:http';
import { SECOND } from '../../../lib/clock.ts';
import type { Call, HiddenName } from './calls.ts';

type Secrets = Partial<Record<HiddenName, string>>;

/** What came back. */
export interface Answer {
  status: number;
  /** The status line, and those headers that an app would look at. */
  head: string;
  /** As far as a page can show it. */
  text: string;
  /** Undefined if it is not JSON. */
  json: unknown;
}

const TIMEOUT = 10 * SECOND;
const LONGEST = 8000;
const HEADERS = ['content-type', 'cache-control', 'www-authenticate', 'retry-after', 'link', 'x-request-id'];

/**
 * Over the network and through whatever stands before this server, as any app would. The address is always our own.
 * Undefined if it could not be reached.
 */
export async function sendCall(call: Call, secrets: Secrets): Promise<Answer | undefined> {
  const { method, url, headers, body } = call;
  const known = (part: Call['headers'][0][1][0]) => (typeof part === 'string' ? part : (secrets[part.hidden] ?? ''));
  try {
    const response = await fetch(url, {
      method,
      headers: headers.map(([name, value]): [string, string] => [name, value.map(known).join('')]),
      body: body
        ? JSON.stringify(Object.fromEntries(Object.entries(body).map(([name, value]) => [name, known(value)])))
        : null,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT),
    });
    return readAnswer(response, await response.text());
  } catch {
    return undefined;
  }
}

function readAnswer({ status, headers }: Response, text: string): Answer {
  const kept = HEADERS.flatMap((name) => (headers.has(name) ? [`${name}: ${headers.get(name)}`] : []));
  const head = [`${status} ${STATUS_CODES[status] ?? ''}`.trim(), ...kept].join('\n');
  const json = headers.get('content-type')?.includes('json') ? parse(text) : undefined;
  const shown = json === undefined ? text : JSON.stringify(json, shortenTokens, 2);
  return { status, head, json, text: shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function shortenTokens(name: string, value: unknown): unknown {
  const isToken = name === 'access_token' || name === 'refresh_token';
  return isToken && typeof value === 'string' ? `${value.slice(0, 4)}…${value.slice(-4)}` : value;
}
