import { formatTime, isTime } from './times.ts';
import type { StoredTokens, Tokens } from './tokens.ts';

/** Checks of arguments before anything is sent. Messages never contain values: they may be secrets. */
const WITHOUT_SPACES = /^[^\s\p{Cc}]+$/u;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
/** RFC 6749 §3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ORIGIN = /^https?:\/\/[^\s/\\?#@]+\/?$/i;
const ADDRESS = /^https?:\/\/[^\s\p{Cc}/\\?#]+(?:[/?][^\s\p{Cc}#]*)?$/iu;
const PATH = /^\/[\x21\x22\x24-\x5b\x5d-\x7e]*$/;
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

const MAX_TIMEOUT = 600_000;
const MAX_PAGE_SIZE = 200;

export function requireObject<Given extends object>(value: Given, name: string): Given {
  if (typeof value !== 'object' || value === null) rejectArgument(name, 'an object');
  return value;
}

export function requireText(value: unknown, name: string): string {
  return matching(value, WITHOUT_SPACES, name, 'text without spaces or control characters, and not empty');
}

export function requireToken(value: unknown, name: string): string {
  return matching(value, VISIBLE_ASCII, name, 'a token as Gatehouse gave it, in visible ASCII characters');
}

export function requireUuid(value: unknown, name: string): string {
  return matching(value, UUID, name, 'a UUID');
}

/** Only the origin, like the `iss` of a callback. */
export function requireBaseUrl(value: unknown): string {
  const rule = 'an https origin such as https://api.example.com (or http on localhost), without path or query';
  const text = matching(value, ORIGIN, 'baseUrl', rule);
  const url = parseUrl(text);
  if (!url || (url.protocol !== 'https:' && !LOOPBACK.includes(url.hostname))) rejectArgument('baseUrl', rule);
  return url.origin;
}

/** Unchanged: Gatehouse compares it with the registered one byte for byte. */
export function requireRedirectUri(value: unknown): string {
  const rule = 'an absolute http or https URL such as https://app.example.com/callback, without a fragment';
  const text = matching(value, ADDRESS, 'redirectUri', rule);
  if (!parseUrl(text)) rejectArgument('redirectUri', rule);
  return text;
}

export function requireScopes(value: unknown, name: string): string[] {
  const isValid = Array.isArray(value) && value.length > 0 && value.every((each) => matches(each, SCOPE));
  if (!isValid) rejectArgument(name, 'a list of one or more scope names, such as ["read:invoices"]');
  return [...value];
}

export function requirePrompt(value: unknown): 'none' | 'login' | undefined {
  if (value !== undefined && value !== 'none' && value !== 'login')
    rejectArgument('prompt', "'none' or 'login' if it is given");
  return value;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export function requireMethod(value: (typeof METHODS)[number]): (typeof METHODS)[number] {
  if (!METHODS.includes(value)) rejectArgument('method', `one of ${METHODS.join(', ')}`);
  return value;
}

/** Appended to the origin, so that the token can be sent nowhere else. */
export function requirePath(value: unknown): string {
  return matching(value, PATH, 'path', 'the path of an endpoint, such as /api/v1/me, in visible ASCII characters');
}

export function requireTimeout(value: unknown): number {
  const isValid = typeof value === 'number' && value > 0 && value <= MAX_TIMEOUT;
  if (!isValid) rejectArgument('timeout', `a number of milliseconds, over 0 and at most ${MAX_TIMEOUT}`);
  return value;
}

export function requireFunction<Given>(value: Given, name: string): Given {
  if (typeof value !== 'function') rejectArgument(name, 'a function');
  return value;
}

export function optionalText(value: unknown, name: string): string | undefined {
  const isValid = value === undefined || (typeof value === 'string' && value !== '');
  if (!isValid) rejectArgument(name, 'text that is not empty, if it is given');
  return value;
}

export function optionalCount(value: unknown, name: string): number | undefined {
  const isValid = value === undefined || (isWhole(value) && value >= 1 && value <= MAX_PAGE_SIZE);
  if (!isValid) rejectArgument(name, `a whole number from 1 to ${MAX_PAGE_SIZE}, if it is given`);
  return value;
}

/** A copy, so that later changes of the app's object have no effect. */
export function requireTokens(value: StoredTokens, name: string): Tokens {
  const { accessToken, refreshToken, expiresAt, scopes } = requireObject(value, name);
  // Empty if the app has no allowed scopes left: such a pair is still valid.
  const isList = Array.isArray(scopes) && scopes.every((each) => matches(each, SCOPE));
  if (!isList) rejectArgument(`${name}.scopes`, 'a list of scope names');
  return {
    accessToken: requireToken(accessToken, `${name}.accessToken`),
    refreshToken: requireToken(refreshToken, `${name}.refreshToken`),
    expiresAt: requireTime(expiresAt, `${name}.expiresAt`),
    scopes: [...scopes],
  };
}

/** As text, also if it is a number, as 0.1.0 had it. */
function requireTime(value: unknown, name: string): string {
  const time = typeof value === 'number' ? formatTime(value) : value;
  if (!isTime(time)) rejectArgument(name, 'a time such as 2030-01-31T12:00:00.000Z');
  return time;
}

export function rejectArgument(name: string, rule: string): never {
  throw new TypeError(`${name} must be ${rule}.`);
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function matching(value: unknown, pattern: RegExp, name: string, rule: string): string {
  if (!matches(value, pattern)) rejectArgument(name, rule);
  return value;
}

function matches(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}

function isWhole(value: unknown): value is number {
  return Number.isInteger(value);
}
