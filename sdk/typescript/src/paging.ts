import { GatehouseError } from './errors.ts';
import { MAX_LINK, nextTarget } from './links.ts';
import { type ApiResponse, invalidResponse } from './requests.ts';

/** A part of a list. */
export interface Page<Item> {
  items: Item[];
  /** The `cursor` of the next page; undefined on the last one. */
  nextCursor: string | undefined;
}

export function readPage<Item>(response: ApiResponse, isItem: (value: unknown) => value is Item): Page<Item> {
  const { json, headers } = response;
  const link = headers.get('link') ?? '';
  // Without its link, a page would look like the last one.
  if (!Array.isArray(json) || !json.every(isItem) || link.length > MAX_LINK) throw invalidResponse(response);
  return { items: json, nextCursor: cursorIn(nextTarget(link)) };
}

/** Fetches pages one at a time, as needed. */
export async function* walkPages<Item>(
  start: string | undefined,
  readPageAt: (cursor: string | undefined) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, undefined> {
  const seen = new Set<string | undefined>();
  let cursor = start;
  do {
    const page: Page<Item> = await readPageAt(cursor);
    yield* page.items;
    seen.add(cursor);
    cursor = page.nextCursor;
    if (cursor !== undefined && seen.has(cursor)) throw pageCycle();
  } while (cursor !== undefined);
}

function pageCycle(): GatehouseError {
  const description = 'The pages link in a cycle: the next one was already read.';
  return new GatehouseError({ code: 'invalid_response', description });
}

/** The link itself is never followed: the token could be sent to another server. */
function cursorIn(target: string): string | undefined {
  return new URLSearchParams(target.replace(/^[^?]*\??/, '')).get('cursor') ?? undefined;
}
