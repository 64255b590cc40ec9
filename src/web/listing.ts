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

/** The rows of a list that a page shows: those after one row, those before one, or the first. */
export interface Cursor {
  after: string | undefined;
  before: string | undefined;
}

export function readCursor(query: Record<string, unknown>): Cursor {
  const read = (name: string) => {
    const id = query[name];
    return typeof id === 'string' && isId(id) ? id : undefined;
  };
  const after = read('after');
  return { after, before: after === undefined ? read('before') : undefined };
}

export interface ListPage<Item> {
  shown: Item[];
  /** The cursors of the pages beside this one, if there are any. */
  previous: string | undefined;
  next: string | undefined;
}

interface Pages<Item> {
  /** In the order of the list. */
  load(range: Cursor & { limit: number }): Promise<Item[]>;
  cursorOf(item: Item): string;
}

/** Reads one row more than fits, which shows whether there is a further page. */
export async function readPage<Item>(cursor: Cursor, { load, cursorOf }: Pages<Item>): Promise<ListPage<Item>> {
  const items = await load({ ...cursor, limit: PAGE_SIZE + 1 });
  const isMore = items.length > PAGE_SIZE;
  // The first page starts with the first row, however many rows were before the cursor.
  if (cursor.before !== undefined && !isMore) {
    return readPage({ after: undefined, before: undefined }, { load, cursorOf });
  }
  const shown = cursor.before === undefined ? items.slice(0, PAGE_SIZE) : items.slice(-PAGE_SIZE);
  const [first, last] = [shown[0], shown.at(-1)];
  const isFirst = cursor.after === undefined && cursor.before === undefined;
  const isLast = cursor.before === undefined && !isMore;
  return {
    shown,
    previous: isFirst || first === undefined ? undefined : cursorOf(first),
    next: isLast || last === undefined ? undefined : cursorOf(last),
  };
}

/** Expects one row more than fits on a page. `next` is the cursor of the next page, if there is one. */
export function takePage<Item extends { id: string }>(items: Item[]): { shown: Item[]; next: string | undefined } {
  const shown = items.slice(0, PAGE_SIZE);
  return { shown, next: items.length > shown.length ? shown.at(-1)?.id : undefined };
}

export function searchForm({ path, search, label }: { path: string; search: string; label: string }): Html {
  return html`<form class="search" method="get" action="${path}" role="search">
<label class="visually-hidden" for="q">${label}</label>
<input id="q" name="q" type="search" value="${search}" placeholder="Search" autocomplete="off" maxlength="${String(MAX_SEARCH_LENGTH)}">
<button class="secondary">Search</button>
${search && html`<a href="${path}">Show all</a>`}
</form>`;
}

interface Pager extends Listing {
  path: string;
  filters?: Record<string, string | undefined>;
  /** The cursor of the previous page, for lists that can be read backwards. */
  previous?: string | undefined;
}

/** Links to the next page, and to the previous or the first one. All keep `filters`. */
export function pager({ path, search, after, previous, filters = {} }: Pager, next: string | undefined): Html | null {
  if (!next && !after && !previous) return null;
  const link = (cursor: Record<string, string | undefined>) => listingUrl(path, { q: search, ...filters, ...cursor });
  return html`<nav class="pager" aria-label="Pages">
${previous && html`<a class="button secondary" href="${link({ before: previous })}" rel="prev">Previous page</a>`}
${!previous && after && html`<a class="button secondary" href="${link({})}">First page</a>`}
${next && html`<a class="button secondary" href="${link({ after: next })}" rel="next">Next page</a>`}
</nav>`;
}

/** Leaves out empty parameters. */
export function listingUrl(path: string, query: Record<string, string | undefined>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}
