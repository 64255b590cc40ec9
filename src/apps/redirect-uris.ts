import { FormError } from '../lib/errors.ts';
import { isLoopbackHost } from '../lib/ip-addresses.ts';

export const MAX_URIS = 20;
const MAX_LENGTH = 2000;

/**
 * RFC 3986's characters without `#` and `*`, and with brackets only around an address. A URL parser is more lenient.
 */
const PLAIN = /^[a-z]+:\/\/(?:\[[^\]]*\])?(?:[\w\-.~:/?@!$&'()+,;=]|%[0-9A-Fa-f]{2})*$/;

/** The host goes into the CSP header of the consent page, where other characters have a meaning. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9-]+(?:\.[a-z0-9-]+)*)$/;

/** RFC 8252 §7.1: `com.example.app:/callback` has no host, `cursor://anysphere/callback` looks as if it had one. */
const PLAIN_PRIVATE = /^[a-z][a-z0-9+.-]*:\/(?:[\w\-.~:/?@!$&'()+,;=]|%[0-9A-Fa-f]{2})+$/;

/** RFC 8252 §7.3: a native app does not know its port in advance. */
const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::\d{1,5})?(?=[/?])/;
const LOCALHOST_PORT = /^(http:\/\/localhost)(?::\d{1,5})?(?=[/?])/;
/** A URL parser drops the default port, which may be sent nevertheless. */
const DEFAULT_PORT = /^(http:\/\/[^/?]*):80(?=[/?])/;

/** RFC 6749 §4.1.2 and §4.1.2.1, RFC 9207: a client that reads the wrong one of two would accept what it did not get. */
const RESPONSE_PARAMETERS = ['code', 'state', 'error', 'error_description', 'error_uri', 'iss'];

/** `privateSchemes` are the private-use schemes that a public client may have (RFC 8252 §7.1). */
export function readRedirectUris(texts: readonly string[], privateSchemes: readonly string[] = []): string[] {
  const uris = [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ''))];
  if (uris.length === 0) throw new FormError('redirect_uris', 'Enter at least one redirect URI.');
  if (uris.length > MAX_URIS) throw new FormError('redirect_uris', `Enter at most ${MAX_URIS} redirect URIs.`);
  const problems = uris.flatMap((uri) => {
    const problem = problemOfNew(uri, privateSchemes);
    return problem === undefined ? [] : [`${uri.slice(0, 100)}: ${problem}`];
  });
  if (problems.length === 0) return uris;
  const rows = texts.map((text) => (text.trim() === '' ? undefined : problemOfNew(text.trim(), privateSchemes)));
  throw new FormError('redirect_uris', problems.join('\n'), rows);
}

/** Redirect URIs that could be registered, or could be when the client registered. A metadata document may list any number; its size is limited. */
export function usableRedirectUris(texts: readonly string[], privateSchemes: readonly string[]): string[] {
  return [...new Set(texts)].filter((uri) => problemOf(uri, privateSchemes) === undefined);
}

/** Byte for byte (RFC 9700 §4.1.3), except for the port of a loopback address. */
export function isRegistered(registered: readonly string[], sent: string): boolean {
  return registered.some((uri) => uri === sent || differsInPort(uri, sent, LOOPBACK_PORT));
}

/** For external clients: several list `http://localhost/callback` in their metadata and choose the port when they start. */
export function isRegisteredExternally(registered: readonly string[], sent: string): boolean {
  return isRegistered(registered, sent) || registered.some((uri) => differsInPort(uri, sent, LOCALHOST_PORT));
}

function problemOfNew(uri: string, privateSchemes: readonly string[]): string | undefined {
  const problem = problemOf(uri, privateSchemes);
  if (problem !== undefined) return problem;
  const { searchParams } = new URL(uri);
  const name = RESPONSE_PARAMETERS.find((each) => searchParams.has(each));
  return name && `its query has ${name}, which the response adds; use another name.`;
}

function problemOf(uri: string, privateSchemes: readonly string[]): string | undefined {
  if (uri.length > MAX_LENGTH) return `a redirect URI has at most ${MAX_LENGTH} characters.`;
  if (uri.includes('#')) return 'a redirect URI has no fragment (#).';
  if (uri.includes('*')) return 'a redirect URI has no wildcard (*); register each address.';
  const url = URL.parse(uri);
  const incomplete = 'this is not a complete URL, like https://app.example.com/callback.';
  if (!url) return incomplete;
  if (privateSchemes.includes(url.protocol.slice(0, -1))) {
    return PLAIN_PRIVATE.test(uri) && url.href === uri && !url.username && !url.password ? undefined : incomplete;
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackHost(url.hostname))) {
    return 'use https, or http on localhost, 127.0.0.1 or [::1].';
  }
  if (!PLAIN.test(uri)) return incomplete;
  if (!HOST.test(url.hostname)) return 'its host is not a name or an address.';
  if (url.username || url.password) return 'a redirect URI has no user name or password.';
  return url.href === uri ? undefined : `write it as ${url.href}`;
}

function differsInPort(uri: string, sent: string, origin: RegExp): boolean {
  return origin.test(uri) && isNormalized(sent) && uri.replace(origin, '$1') === sent.replace(origin, '$1');
}

function isNormalized(uri: string): boolean {
  return PLAIN.test(uri) && URL.parse(uri)?.href === uri.replace(DEFAULT_PORT, '$1');
}
