import type { Resource, Values } from '../resources/resource.ts';
import type { Database } from '../storage/storage.ts';
import { type FileFormat, formatRecord, headerOf } from './record-files.ts';
import { columnsOf, fromRow, type Row, recordsIn } from './rows.ts';

const PAGE_SIZE = 500;

/** All records of a business in the order of their creation, as text. Reads page by page. */
export async function* exportRecords(
  db: Database,
  resource: Resource,
  { businessId, format }: { businessId: string; format: FileFormat },
): AsyncIterable<string> {
  yield headerOf(resource, format);
  for (let after = ''; ; ) {
    const page = await listAfter(db, resource, businessId, after);
    yield page.map((values) => formatRecord(resource, values, format)).join('');
    if (page.length < PAGE_SIZE) return;
    after = String(page.at(-1)?.id);
  }
}

async function listAfter(db: Database, resource: Resource, businessId: string, after: string): Promise<Values[]> {
  let query = recordsIn(db)
    .selectFrom(resource.table)
    .select(columnsOf(resource, true))
    .where('business_id', '=', businessId);
  if (after !== '') query = query.where('id', '>', after);
  const rows = await query.orderBy('id').limit(PAGE_SIZE).execute();
  return rows.map((row) => fromRow(resource, row as Row));
}
