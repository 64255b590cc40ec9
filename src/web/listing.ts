import { type Html, html } from '../lib/html.ts';
import { isId } from '../lib/ids.ts';

/** Which part of a long list is asked for: what matches a search, and what comes after the page before. */
export interface Listing {
  search: string;
  /** The id of the last row of the page before. */
  after: string | undefined;
}

export const PAGE_SIZE = 50;
const MAX_SEARCH_LENGTH = 100;

export function readListing(query: unknown): Listing {
  const { q, after } = (query ?? {}) as { q?: unknown; after?: unknown };
  const search = typeof q === 'string' ? q.trim().replaceAll('\0', '').slice(0, MAX_SEARCH_LENGTH) : '';
  return { search, after: typeof after === 'string' && isId(after) ? after : undefined };
}

/** A page of rows out of one row more than a page, and the id to go on from if there are more. */
export function takePage<Item extends { id: string }>(items: Item[]): { shown: Item[]; next: string | undefined } {
  const shown = items.slice(0, PAGE_SIZE);
  return { shown, next: items.length > shown.length ? shown.at(-1)?.id : undefined };
}

export function searchForm({ path, search, label }: { path: string; search: string; label: string }): Html {
  return html`<form class="search" method="get" action="${path}" role="search">
<label class="visually-hidden" for="q">${label}</label>
<input id="q" name="q" type="search" value="${search}" placeholder="${label}" autocomplete="off" maxlength="${String(MAX_SEARCH_LENGTH)}">
<button class="secondary">Search</button>
${search && html`<a href="${path}">Show all</a>`}
</form>`;
}

/** The way on, and the way back to the start. `filters` are kept on both. */
export function pager(
  { path, search, after, filters = {} }: Listing & { path: string; filters?: Record<string, string | undefined> },
  next: string | undefined,
): Html | null {
  if (!next && !after) return null;
  const link = (from: string | undefined) => listingUrl(path, { q: search, ...filters, after: from });
  return html`<nav class="pager" aria-label="Pages">
${after && html`<a class="button secondary" href="${link(undefined)}">First page</a>`}
${next && html`<a class="button secondary" href="${link(next)}" rel="next">Next page</a>`}
</nav>`;
}

/** The address of a part of a list; what is empty is left out. */
export function listingUrl(path: string, asked: Record<string, string | undefined>): string {
  const given = Object.entries(asked).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}
