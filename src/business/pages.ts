import type { Resource, Values } from '../resources/resource.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database } from '../storage/storage.ts';
import { columnOf, columnsOf, fromRow, type Row, recordsIn } from './rows.ts';

export interface Page {
  businessId: string;
  /** Equality, by field name. */
  filters: Record<string, string>;
  /** A field, `createdAt` or `updatedAt`. */
  sort: string;
  isDescending: boolean;
  /** Bounds of the sort field, as stored: from, inclusive, and to, exclusive. */
  since: string | number | undefined;
  until: string | number | undefined;
  after: { value: string | number; id: string } | undefined;
  limit: number;
}

/** One page, by the index of its filters and its order. */
export async function listRecords(db: Database, resource: Resource, page: Page): Promise<Values[]> {
  const { filters, sort, isDescending, since, until, after } = page;
  const names = Object.keys(filters).sort();
  const shape = [resource.name, ...names, sort, isDescending, since === undefined, until === undefined, !after].join();
  const query = pageQueries.get(shape) ?? pageQuery(resource, page);
  pageQueries.set(shape, query);
  const equal = names.map((name) => [`=${name}`, filters[name]]);
  const values = { businessId: page.businessId, limit: page.limit, since, until, value: after?.value, id: after?.id };
  const { rows } = await query(db, { ...values, ...Object.fromEntries(equal) });
  return rows.map((row) => fromRow(resource, row as Row));
}

/** The name of a filter is prefixed with `=`. A query uses only the values that its shape has. */
type PageValues = Record<string, string | number>;

type PageQuery = ReturnType<typeof pageQuery>;
/** By the shape of the page: which filters, order and bounds it has. */
const pageQueries = new Map<string, PageQuery>();

function pageQuery(resource: Resource, { filters, sort, isDescending, since, until, after }: Page) {
  const names = Object.keys(filters);
  // Ids grow with time, so that the order of creation needs no other column.
  const column = sort === 'createdAt' ? 'id' : columnOf(sort);
  const [beyond, direction] = isDescending ? (['<', 'desc'] as const) : (['>', 'asc'] as const);
  return preparedQuery((db, values: PageValues) => {
    let query = recordsIn(db)
      .selectFrom(resource.table)
      .select(columnsOf(resource, false))
      .where('business_id', '=', values.businessId as string);
    for (const name of names) query = query.where(columnOf(name), '=', values[`=${name}`] as string);
    if (since !== undefined) query = query.where(column, '>=', values.since as string);
    if (until !== undefined) query = query.where(column, '<', values.until as string);
    if (after && column === 'id') query = query.where('id', beyond, values.id as string);
    else if (after)
      query = query.where((eb) => eb(eb.refTuple(column, 'id'), beyond, eb.tuple(values.value, values.id) as never));
    if (column !== 'id') query = query.orderBy(column, direction);
    // The limit is an expression: SQLite would plan a bare parameter again for each value.
    return query.orderBy('id', direction).limit((eb) => eb(eb.val(values.limit), '+', eb.lit(0) as never) as never);
  });
}
