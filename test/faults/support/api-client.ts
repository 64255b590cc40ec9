import { setTimeout } from 'node:timers/promises';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { REDIRECT_URI } from '../../support/fixtures.ts';
import { scannedFetch } from '../../support/secret-scanner.ts';

/** A response, with the times before and after it. */
export interface TimedResponse {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came, and asserts what it should be.
  body: any;
  retryAfter?: string | null;
  began: number;
  ended: number;
}

/** A process that has just started on a busy machine can read a request so late that its time is over: 408. */
const NOT_HANDLED = [408, 503];
const RESPONSE_TIMEOUT = 30_000;
/** Longer than an election takes after a primary has failed. */
const GIVE_UP_AFTER = 150_000;

/** Sends one request, without following redirects. Undefined without a response: then nothing was acknowledged. */
export async function send(url: string, init: RequestInit = {}): Promise<TimedResponse | undefined> {
  const began = Date.now();
  try {
    const response = await scannedFetch(url, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.timeout(RESPONSE_TIMEOUT),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    const [body, retryAfter] = [isJson ? JSON.parse(text) : text, response.headers.get('retry-after')];
    return { status: response.status, body, retryAfter, began, ended: Date.now() };
  } catch {
    return undefined;
  }
}

/** Retries until the server has handled the request, as an app would. */
export async function retryUntilAvailable<Response>(send: () => Promise<Response | undefined>): Promise<Response> {
  let last: unknown;
  for (const began = performance.now(); performance.now() - began < GIVE_UP_AFTER; await setTimeout(20)) {
    try {
      const response = await send();
      if (response !== undefined && !isUnavailable(response)) return response;
      last = response;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`no response within ${GIVE_UP_AFTER / 1000} s to ${send}`, { cause: last });
}

function isUnavailable(response: unknown): boolean {
  return NOT_HANDLED.includes((response as { status?: number }).status ?? 0);
}

export type ApiClient = ReturnType<typeof createApiClient>;

/** The requests of an app, to an address that may differ for each. */
export function createApiClient(address: () => string) {
  const post = (path: string, fields: object) =>
    send(`${address()}/api/v1/oauth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
  const prove = ({ id, secret }: Pick<RegisteredApp, 'id' | 'secret'>) => ({ client_id: id, client_secret: secret });
  return {
    exchange: (app: RegisteredApp, code: string) =>
      post('token', { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, ...prove(app) }),
    refresh: (app: RegisteredApp, refresh_token: string) =>
      post('token', { grant_type: 'refresh_token', refresh_token, ...prove(app) }),
    revoke: (token: string) => post('revoke', { token }),
    introspect: (app: Pick<RegisteredApp, 'id' | 'secret'>, token: string) =>
      post('introspect', { token, ...prove(app) }),
    use: (token: string) => send(`${address()}/api/v1/businesses`, { headers: { authorization: `Bearer ${token}` } }),
    authorizeUrl: ({ id }: RegisteredApp) =>
      `${address()}/api/v1/oauth/authorize?${new URLSearchParams({
        response_type: 'code',
        client_id: id,
        redirect_uri: REDIRECT_URI,
        scope: 'read:invoices',
        state: 'state-1',
      })}`,
  };
}
