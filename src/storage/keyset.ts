import { firstIdAt } from '../lib/ids.ts';

/** A page of rows, newest first by an id that grows with time: those after one row, those before one, or the newest. */
export interface Keyset {
  after?: string | undefined;
  before?: string | undefined;
  limit: number;
}

interface Bounds {
  below: string | undefined;
  above: string | undefined;
  order: 'asc' | 'desc';
}

/** One bound on each side at most: of two lower bounds, SQLite uses only the first for its index. */
export function keysetBounds({ after, before }: Keyset, since: number | undefined): Bounds {
  const oldest = since === undefined ? '' : firstIdAt(since);
  const above = before !== undefined && before > oldest ? before : oldest;
  return { below: after, above: above || undefined, order: before === undefined ? 'desc' : 'asc' };
}

/** The rows before another row are read from it upwards. */
export function newestFirst<Item>({ order }: Bounds, rows: Item[]): Item[] {
  return order === 'asc' ? rows.reverse() : rows;
}
