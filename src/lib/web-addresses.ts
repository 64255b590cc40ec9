import { FormError } from './errors.ts';

const MAX_LENGTH = 500;

/** In ASCII, as `URL` writes it: a name that imitates another is shown as xn--. An address of the local network has no dot. */
const HOST = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/;

/** A public page, by https. */
export function readWebAddress(field: string, text: string): string {
  const url = parseWebAddress(text.trim());
  if (url) return url;
  throw new FormError(field, 'Enter a complete address that starts with https://, without user name and password.');
}

/** Undefined if it is not the address of a public page. */
export function parseWebAddress(text: string): string | undefined {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' || url.username || url.password || !HOST.test(url.hostname)) return undefined;
  return url.href.length <= MAX_LENGTH ? url.href : undefined;
}

/** Percent-encodes spaces, line breaks and what is not ASCII, which may look like nothing or like something else. */
export function withVisibleCharacters(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent);
}
