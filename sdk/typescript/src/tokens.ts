import type { Credentials } from './credentials.ts';
import { type ApiResponse, fieldsOf, invalidResponse } from './requests.ts';
import { EXCHANGE, REFRESH, send } from './retries.ts';
import { formatTime } from './times.ts';

/** A pair of tokens: plain data that survives JSON. Store it like a password. */
export interface Tokens {
  accessToken: string;
  refreshToken: string;
  /** When the access token expires: ISO 8601, in UTC. */
  expiresAt: string;
  /** The scopes of the access token. */
  scopes: string[];
}

/** `Tokens`, or what an app stored of 0.1.0: its `expiresAt` is a number, milliseconds since 1970. */
export type StoredTokens = Omit<Tokens, 'expiresAt'> & { expiresAt: string | number };

const PATH = '/api/v1/oauth/token';

export async function exchangeCode(
  app: Credentials,
  code: string,
  codeVerifier: string,
  signal: AbortSignal | undefined,
): Promise<Tokens> {
  const body = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: app.redirectUri,
    code_verifier: codeVerifier,
    ...app.fields,
  };
  const sentAt = Date.now();
  return readTokens(await send(app.connection, { path: PATH, body, signal }, EXCHANGE), sentAt);
}

export async function refreshTokens(
  app: Credentials,
  refreshToken: string,
  scopes?: string[],
  signal?: AbortSignal,
): Promise<Tokens> {
  const body = {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    scope: scopes?.join(' '),
    ...app.fields,
  };
  const sentAt = Date.now();
  return readTokens(await send(app.connection, { path: PATH, body, signal }, REFRESH), sentAt);
}

/** Counted from the time of the request, so the token never seems valid for too long. */
function readTokens(response: ApiResponse, sentAt: number): Tokens {
  const { access_token, refresh_token, expires_in, scope } = fieldsOf(response.json);
  const expiresAt = typeof expires_in === 'number' ? formatTime(sentAt + expires_in * 1000) : undefined;
  const isValid = isToken(access_token) && isToken(refresh_token) && typeof scope === 'string';
  if (!isValid || expiresAt === undefined) throw invalidResponse(response);
  return { accessToken: access_token, refreshToken: refresh_token, expiresAt, scopes: splitScopes(scope) };
}

export function splitScopes(scope: string): string[] {
  return scope.split(' ').filter((name) => name !== '');
}

function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value);
}
