import type { Resource } from '../resources/resource.ts';
import type { Database } from '../storage/storage.ts';
import { recordsIn } from './rows.ts';

interface NumberRequest {
  businessId: string;
  count: number;
  /** Numbers that are about to be used. */
  except: readonly string[];
}

/**
 * The next numbers that no record of the business has. Each time that some are taken it skips twice as far, so that many taken
 * numbers cost few statements. Locks the sequence until the transaction ends.
 */
export async function takeNumbers(tx: Database, resource: Resource, request: NumberRequest): Promise<string[]> {
  const { businessId, count } = request;
  const found: string[] = [];
  for (let skip = 0; found.length < count; skip = 2 * skip + 1) {
    const numbers = await advance(tx, resource, businessId, { skip, count: count - found.length });
    const used = new Set([...(await listUsed(tx, resource, businessId, numbers)), ...request.except]);
    found.push(...numbers.filter((number) => !used.has(number)));
  }
  return found;
}

async function advance(
  tx: Database,
  { table, name, numbered }: Resource,
  businessId: string,
  { skip, count }: { skip: number; count: number },
) {
  const last =
    (await advanceSequence(tx, name, businessId, skip + count)) ??
    (await startSequence(tx, { table, name }, businessId, skip + count));
  return Array.from({ length: count }, (_, index) => {
    const next = Number(last) - count + 1 + index;
    return `${numbered}${String(next).padStart(4, '0')}`;
  });
}

async function listUsed(tx: Database, { table }: Resource, businessId: string, numbers: string[]): Promise<string[]> {
  const rows = await recordsIn(tx)
    .selectFrom(table)
    .select('number')
    .where('business_id', '=', businessId)
    .where('number', 'in', numbers)
    .execute();
  return rows.map(({ number }) => String(number));
}

async function advanceSequence(tx: Database, resource: string, businessId: string, count: number) {
  const row = await tx
    .updateTable('number_sequences')
    .set(({ eb }) => ({ next: eb('next', '+', count) }))
    .where('business_id', '=', businessId)
    .where('resource', '=', resource)
    .returning('next')
    .executeTakeFirst();
  return row?.next;
}

/** After as many numbers as there are records. Advances it if another transaction has started it meanwhile. */
async function startSequence(
  tx: Database,
  { table, name }: { table: string; name: string },
  businessId: string,
  count: number,
) {
  const { records } = await recordsIn(tx)
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<string>().as('records'))
    .where('business_id', '=', businessId)
    .executeTakeFirstOrThrow();
  const row = await tx
    .insertInto('number_sequences')
    .values({ business_id: businessId, resource: name, next: Number(records) + count })
    .onConflict((conflict) => conflict.columns(['business_id', 'resource']).doNothing())
    .returning('next')
    .executeTakeFirst();
  return row?.next ?? advanceSequence(tx, name, businessId, count);
}
