import { isLoopbackHost } from '../lib/ip-addresses.ts';

/** Removes one part of a URL. Two URLs that are then equal differ in this part only. */
const WITHOUT = {
  loopback_host(url: URL) {
    if (!isLoopbackHost(url.hostname)) return;
    url.hostname = 'localhost';
    url.port = '';
  },
  scheme(url: URL) {
    url.protocol = 'https:';
  },
  port(url: URL) {
    url.port = '';
  },
  trailing_slash(url: URL) {
    url.pathname = url.pathname.replace(/\/$/, '');
  },
  query(url: URL) {
    url.search = '';
  },
  path(url: URL) {
    url.pathname = '';
  },
};

export type RedirectDifference = keyof typeof WITHOUT;

/** The only part in which a redirect URI differs from a registered one. */
export function differenceFrom(registered: readonly string[], sent: string): RedirectDifference | undefined {
  const names = Object.keys(WITHOUT) as RedirectDifference[];
  return names.find((name) => registered.some((uri) => reduce(uri, name) === reduce(sent, name)));
}

function reduce(uri: string, name: RedirectDifference): string {
  const url = URL.parse(uri);
  if (!url) return uri;
  WITHOUT[name](url);
  return url.href;
}
