const ALLOWED = /^\/(?:$|consent$|invitation\/|settings\/|platform\/)/;

/** A path on this host that a person may be sent back to; anything else becomes the front page. */
export function readReturnTo(text: unknown, consentUrl: string): string {
  // The parser below forgives what a browser would take for another host: //x, /\x, tabs and line breaks.
  if (typeof text !== 'string' || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return '/';
  const url = URL.parse(text, consentUrl);
  return url && url.origin === consentUrl && ALLOWED.test(url.pathname) ? url.pathname + url.search : '/';
}
