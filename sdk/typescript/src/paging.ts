import { GatehouseError } from './errors.ts';
import { LONGEST_LINK, nextTarget } from './links.ts';
import { type Answer, unreadable } from './requests.ts';

export interface Page<Item> {
  items: Item[];
  /** To be given as `cursor` for the next page; undefined on the last one. */
  nextCursor: string | undefined;
}

export function readPage<Item>(answer: Answer, isItem: (value: unknown) => value is Item): Page<Item> {
  const { json, headers } = answer;
  const link = headers.get('link') ?? '';
  // Without its link, a page would look like the last one.
  if (!Array.isArray(json) || !json.every(isItem) || link.length > LONGEST_LINK) throw unreadable(answer);
  return { items: json, nextCursor: cursorIn(nextTarget(link)) };
}

/** One page at a time, and only as far as someone reads on. */
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
    if (cursor !== undefined && seen.has(cursor)) throw goesInCircles();
  } while (cursor !== undefined);
}

function goesInCircles(): GatehouseError {
  const description = 'A page named one as the next that had been read already.';
  return new GatehouseError({ code: 'unreadable_answer', description });
}

/** The address itself is never followed: it could lead the token elsewhere. */
function cursorIn(target: string): string | undefined {
  return new URLSearchParams(target.replace(/^[^?]*\??/, '')).get('cursor') ?? undefined;
}
