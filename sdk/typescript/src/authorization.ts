import { rejectArgument, requireObject, requirePrompt, requireScopes, requireText } from './arguments.ts';
import type { Credentials } from './credentials.ts';
import { GatehouseError, toLine } from './errors.ts';
import type { Scope } from './names.ts';
import { exchangeCode, type Tokens } from './tokens.ts';

/** Options of an authorization request. */
export interface AuthorizationOptions {
  /** The requested scopes, such as `read:invoices`. */
  scopes: readonly Scope[];
  /** Scopes that the user may leave unticked. The `scopes` of the tokens are those that were granted. */
  optionalScopes?: readonly Scope[] | undefined;
  /** `none` never shows a page; `login` asks for the password even if the user is signed in. */
  prompt?: 'none' | 'login' | undefined;
}

/** What to store for the visitor's browser until the callback; both values are secret. */
export interface PendingAuthorization {
  state: string;
  codeVerifier: string;
}

/** The URL to send the visitor to, and what to store until the callback. */
export interface Authorization extends PendingAuthorization {
  url: string;
}

const MAX_ISSUER = 200;

export async function beginAuthorization(app: Credentials, options: AuthorizationOptions): Promise<Authorization> {
  const given = requireObject(options, 'The argument of beginAuthorization');
  const scopes = requireScopes(given.scopes, 'scopes');
  const optional = given.optionalScopes === undefined ? [] : requireScopes(given.optionalScopes, 'optionalScopes');
  const prompt = requirePrompt(given.prompt);
  const state = randomText();
  const codeVerifier = randomText();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: app.clientId,
    redirect_uri: app.redirectUri,
    scope: scopes.join(' '),
    ...(optional.length > 0 && { optional_scope: optional.join(' ') }),
    state,
    code_challenge: await challengeOf(codeVerifier),
    code_challenge_method: 'S256',
    ...(prompt && { prompt }),
  });
  return { url: `${app.connection.baseUrl}/api/v1/oauth/authorize?${query}`, state, codeVerifier };
}

export async function finishAuthorization(
  app: Credentials,
  callbackUrl: string | URL,
  pending: PendingAuthorization,
  signal: AbortSignal | undefined,
): Promise<Tokens> {
  const query = queryOf(callbackUrl);
  const given = requireObject(pending, 'The second argument of finishAuthorization');
  const state = requireText(given.state, 'state');
  const codeVerifier = requireText(given.codeVerifier, 'codeVerifier');
  return exchangeCode(app, readCode(query, state, app.connection.baseUrl), codeVerifier, signal);
}

/** In this order: nothing else of a callback for another browser, or of another server, is read. */
function readCode(query: URLSearchParams, state: string, issuer: string): string {
  if (only(query, 'state') !== state) {
    throw failed('state_mismatch', 'This callback does not belong to a request of this browser. Start over.');
  }
  // RFC 9207 §2.4: prevents mix-up attacks, in which another server's callback counts as one of Gatehouse.
  const named = only(query, 'iss');
  if (named !== issuer) throw issuerMismatch(named, issuer);
  if (ANSWER.some((name) => query.getAll(name).length > 1)) {
    throw failed('invalid_response', 'The callback has a repeated parameter. Start over.');
  }
  const [code, error, description = '', uri, reason] = ANSWER.map((name) => query.get(name) ?? undefined);
  if (error) throw new GatehouseError({ code: error, description, uri, reason });
  if (!code) throw failed('invalid_response', 'The callback has neither a code nor an error.');
  return code;
}

const ANSWER = ['code', 'error', 'error_description', 'error_uri', 'reason'];

/** RFC 6749 §3.1: no parameter may be repeated. */
function only(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}

function issuerMismatch(named: string | undefined, issuer: string): GatehouseError {
  const description = named
    ? `This callback comes from ${toLine(named, MAX_ISSUER)}, and baseUrl is ${issuer}.`
    : `This callback does not have exactly one issuer (iss), which should be ${issuer}.`;
  return failed('issuer_mismatch', description);
}

function failed(code: string, description: string): GatehouseError {
  return new GatehouseError({ code, description });
}

/** A full URL, a path with its query, or only the query. */
function queryOf(callbackUrl: unknown): URLSearchParams {
  if (callbackUrl instanceof URL) return callbackUrl.searchParams;
  if (typeof callbackUrl !== 'string' || callbackUrl === '') {
    rejectArgument('callbackUrl', 'the address that the visitor came back to, or its query: text or a URL');
  }
  const [beforeFragment = ''] = callbackUrl.split('#', 1);
  const isQuery = !/^([a-z][a-z\d+.-]*:)?\//i.test(beforeFragment);
  return new URLSearchParams(isQuery ? beforeFragment : beforeFragment.replace(/^[^?]*/, ''));
}

/** 256 bits; 128 would be enough. */
function randomText(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** RFC 7636 §4.2. */
async function challengeOf(verifier: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
