export const MAX_LINK = 8192;

// No two adjacent parts of these patterns match the same characters, so there is no backtracking.
/** A target, and its parameters up to the next: RFC 8288 §3. */
const LINKS = /<([^<>]*)>((?:"[^"]*"|[^<"])*)/g;
const PARAMETERS = /;\s*([^\s=;,"]+)\s*=\s*("[^"]*"|[^\s;,"]*)/g;

/** The target of the `next` link in a `Link` header; empty if there is none. */
export function nextTarget(header: string): string {
  for (const [, target = '', parameters = ''] of header.matchAll(LINKS)) {
    if (relationsIn(parameters).includes('next')) return target;
  }
  return '';
}

/** The first of several `rel` counts. */
function relationsIn(parameters: string): string[] {
  for (const [, name = '', value = ''] of parameters.matchAll(PARAMETERS)) {
    if (name.toLowerCase() === 'rel') return value.replaceAll('"', '').toLowerCase().split(/\s+/);
  }
  return [];
}
