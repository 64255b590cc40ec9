/** The query of a URL, byte for byte, unless it has characters that a header cannot carry. */
export function rawQuery(url: string): string {
  const start = url.indexOf('?');
  const query = start === -1 ? '' : url.slice(start + 1);
  return /^[\x21-\x7e]*$/.test(query) ? query : new URL(`?${query}`, 'http://localhost').search.slice(1);
}
