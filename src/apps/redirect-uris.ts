import { FormError } from '../lib/errors.ts';
import { isLoopbackHost } from '../lib/ip-addresses.ts';

const MAX_URIS = 20;
const MAX_LENGTH = 2000;

/** RFC 3986's characters, less `#` and `*`, and brackets only around an address. A URL parser is more lenient. */
const PLAIN = /^[a-z]+:\/\/(?:\[[^\]]*\])?(?:[\w\-.~:/?@!$&'()+,;=]|%[0-9A-Fa-f]{2})*$/;

/** The host goes into the CSP header of the consent page, where other characters have a meaning. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9-]+(?:\.[a-z0-9-]+)*)$/;

/** RFC 8252 §7.3: a native app does not know its port in advance. */
const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::\d{1,5})?(?=[/?])/;

export function readRedirectUris(texts: readonly string[]): string[] {
  const uris = [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ''))];
  if (uris.length === 0) throw new FormError('redirect_uris', 'Enter at least one redirect URI.');
  if (uris.length > MAX_URIS) throw new FormError('redirect_uris', `Enter at most ${MAX_URIS} redirect URIs.`);
  const problems = uris.flatMap((uri) => {
    const problem = problemOf(uri);
    return problem === undefined ? [] : [`${uri.slice(0, 100)}: ${problem}`];
  });
  if (problems.length > 0) throw new FormError('redirect_uris', problems.join('\n'));
  return uris;
}

/** Byte for byte (RFC 9700 §4.1.3), except for the port of a loopback address. */
export function isRegistered(registered: readonly string[], sent: string): boolean {
  return registered.some(
    (uri) => uri === sent || (hasFreePort(uri) && isNormalized(sent) && anyPort(uri) === anyPort(sent)),
  );
}

function problemOf(uri: string): string | undefined {
  if (uri.length > MAX_LENGTH) return `a redirect URI has at most ${MAX_LENGTH} characters.`;
  if (uri.includes('#')) return 'a redirect URI has no fragment (#).';
  if (uri.includes('*')) return 'a redirect URI has no wildcard (*); register each address.';
  const url = URL.parse(uri);
  const incomplete = 'this is not a complete URL, like https://app.example.com/callback.';
  if (!url) return incomplete;
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackHost(url.hostname))) {
    return 'use https, or http on localhost, 127.0.0.1 or [::1].';
  }
  if (!PLAIN.test(uri)) return incomplete;
  if (!HOST.test(url.hostname)) return 'its host is not a name or an address.';
  if (url.username || url.password) return 'a redirect URI has no user name or password.';
  return url.href === uri ? undefined : `write it as ${url.href}`;
}

function isNormalized(uri: string): boolean {
  return PLAIN.test(uri) && URL.parse(uri)?.href === uri;
}

function hasFreePort(uri: string): boolean {
  return LOOPBACK_PORT.test(uri);
}

function anyPort(uri: string): string {
  return uri.replace(LOOPBACK_PORT, '$1');
}
