export const LONGEST_LINK = 8192;

// No part of either pattern can match what its neighbour does, so that each character is looked at once.
/** A target, and its parameters up to the next: RFC 8288 §3. */
const LINKS = /<([^<>]*)>((?:"[^"]*"|[^<"])*)/g;
const PARAMETERS = /;\s*([^\s=;,"]+)\s*=\s*("[^"]*"|[^\s;,"]*)/g;

/** Where a `Link` header says that the next page is; empty if it does not say. */
export function nextTarget(header: string): string {
  for (const [, target = '', parameters = ''] of header.matchAll(LINKS)) {
    if (relationsIn(parameters).includes('next')) return target;
  }
  return '';
}

/** Of several `rel`, the first one counts. */
function relationsIn(parameters: string): string[] {
  for (const [, name = '', value = ''] of parameters.matchAll(PARAMETERS)) {
    if (name.toLowerCase() === 'rel') return value.replaceAll('"', '').toLowerCase().split(/\s+/);
  }
  return [];
}
