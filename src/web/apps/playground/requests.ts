import { STATUS_CODES } from 'node:http';
import { SECOND } from '../../../lib/clock.ts';

/** A placeholder for a secret, shown as a variable and replaced when the request is sent. */
interface SecretVariable {
  variable: SecretName;
}

type SecretName = 'CLIENT_SECRET' | 'ACCESS_TOKEN' | 'REFRESH_TOKEN';

type Part = string | SecretVariable;

/** One request to our own API. */
export interface Call {
  method: 'GET' | 'POST';
  url: string;
  headers: [name: string, value: Part[]][];
  /** Sent as JSON. */
  body?: Record<string, Part>;
}

export const clientSecret: SecretVariable = { variable: 'CLIENT_SECRET' };
export const refreshToken: SecretVariable = { variable: 'REFRESH_TOKEN' };
const accessToken: SecretVariable = { variable: 'ACCESS_TOKEN' };

export function post(url: string, body: Record<string, Part>): Call {
  return { method: 'POST', url, headers: [['Content-Type', ['application/json']]], body };
}

export function getWithToken(url: string, more: Call['headers'] = []): Call {
  return { method: 'GET', url, headers: [['Authorization', ['Bearer ', accessToken]], ...more] };
}

export function requestText({ method, url, headers, body }: Call): string {
  const lines = headers.map(([name, value]) => `${name}: ${value.map(named).join('')}`);
  return [`${method} ${url}`, ...lines, ...(body ? ['', bodyParts(body).map(named).join('')] : [])].join('\n');
}

/** Placeholders become shell variables. */
export function curlText({ method, url, headers, body }: Call): string {
  const words = [
    `curl -i ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    ...headers.map(([name, value]) => `-H ${inShell([`${name}: `, ...value])}`),
    ...(body ? [`-d ${inShell(bodyParts(body))}`] : []),
  ];
  return words.join(' \\\n  ');
}

export function exportText(variables: Partial<Record<SecretName, string>>): string {
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}`);
  return lines.join('\n');
}

/** JSON with placeholders. */
function bodyParts(body: Record<string, Part>): Part[] {
  const fields = Object.entries(body).map(([name, value]): Part[] => {
    const label = `  ${JSON.stringify(name)}: `;
    return typeof value === 'string' ? [label + JSON.stringify(value)] : [`${label}"`, value, '"'];
  });
  return ['{\n', ...fields.flatMap((field, index) => (index === 0 ? field : [',\n', ...field])), '\n}'];
}

function named(part: Part): string {
  return typeof part === 'string' ? part : `$${part.variable}`;
}

/** One shell word: adjacent quoted strings are joined. */
function inShell(parts: Part[]): string {
  const word = parts.map((part) => (typeof part === 'string' ? escaped(part) : `'"$${part.variable}"'`)).join('');
  // No empty quotes after a variable at the end.
  return typeof parts.at(-1) === 'string' ? `'${word}'` : `'${word.slice(0, -1)}`;
}

function quoted(text: string): string {
  return `'${escaped(text)}'`;
}

/** Within single quotes a shell interprets nothing but the closing quote. */
function escaped(text: string): string {
  return text.replaceAll("'", "'\\''");
}

type Secrets = Partial<Record<SecretName, string>>;

export interface ApiResponse {
  status: number;
  /** The status line and the headers that matter to an app. */
  head: string;
  /** Shortened, with the tokens masked. */
  text: string;
  /** Undefined if it is not JSON. */
  json: unknown;
}

const TIMEOUT = 10 * SECOND;
const MAX_LENGTH = 8000;
const HEADERS = ['content-type', 'cache-control', 'www-authenticate', 'retry-after', 'link', 'x-request-id'];

/**
 * Sends the request over the network and through any proxy, as an app would. The URL is always that of this server.
 * Undefined if the server could not be reached.
 */
export async function sendCall(call: Call, secrets: Secrets): Promise<ApiResponse | undefined> {
  const { method, url, headers, body } = call;
  const known = (part: Call['headers'][0][1][0]) => (typeof part === 'string' ? part : (secrets[part.variable] ?? ''));
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
    return readResponse(response, await response.text());
  } catch {
    return undefined;
  }
}

function readResponse({ status, headers }: Response, text: string): ApiResponse {
  const kept = HEADERS.flatMap((name) => (headers.has(name) ? [`${name}: ${headers.get(name)}`] : []));
  const head = [`${status} ${STATUS_CODES[status] ?? ''}`.trim(), ...kept].join('\n');
  const json = headers.get('content-type')?.includes('json') ? parse(text) : undefined;
  const shown = json === undefined ? text : JSON.stringify(json, shortenTokens, 2);
  return { status, head, json, text: shown.length > MAX_LENGTH ? `${shown.slice(0, MAX_LENGTH)}…` : shown };
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
