import { type Html, html } from '../lib/html.ts';
import { isId } from '../lib/ids.ts';

/** The page of a long list that a request selects. */
export interface Listing {
  search: string;
  /** The id of the last row of the previous page. */
  after: string | undefined;
}

export const PAGE_SIZE = 50;
const MAX_SEARCH_LENGTH = 100;

export function readListing(query: unknown): Listing {
  const { q, after } = (query ?? {}) as { q?: unknown; after?: unknown };
  const search = typeof q === 'string' ? q.trim().replaceAll('\0', '').slice(0, MAX_SEARCH_LENGTH) : '';
  return { search, after: typeof after === 'string' && isId(after) ? after : undefined };
}

/** Expects one row more than fits on a page. `next` is the cursor of the next page, if there is one. */
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

/** Links to the next page and to the first. Both keep `filters`. */
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

/** Leaves out empty parameters. */
export function listingUrl(path: string, query: Record<string, string | undefined>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}
