import type { Resource } from '../resources/resource.ts';
import type { Database } from '../storage/storage.ts';
import { recordsIn } from './rows.ts';

interface NumberRequest {
  businessId: string;
  count: number;
  /** Numbers that are about to be used. */
  except: ReadonlySet<string>;
}

/** Numbers that are looked up in one statement, once the next one is taken. */
const WINDOW = 500;
/** Between two windows. Without a limit, a few chosen numbers would move the sequence to its end. */
const MAX_GAP = 100_000;
/** No business has as many records: a sequence that is further was driven there by chosen numbers. It starts again. */
const LAST_NUMBER = 1e9;

/** The next numbers that no record of the business has. Locks the sequence until the transaction ends. */
export async function takeNumbers(tx: Database, resource: Resource, request: NumberRequest): Promise<string[]> {
  const { businessId, count } = request;
  const last =
    (await advanceSequence(tx, resource.name, businessId, count)) ?? (await startSequence(tx, resource, request));
  const first = Number(last) - count + 1;
  const next = await listFree(tx, resource, request, { first, count });
  return next.length === count ? next.map((number) => format(resource, number)) : search(tx, resource, request, first);
}

/** The gap between two windows doubles, so that an unbroken series of taken numbers costs few statements. */
async function search(tx: Database, resource: Resource, request: NumberRequest, start: number): Promise<string[]> {
  const found: number[] = [];
  for (let [first, gap] = [start, 0]; found.length < request.count; gap = Math.min(2 * gap + WINDOW, MAX_GAP)) {
    found.push(...(await listFree(tx, resource, request, { first, count: WINDOW })));
    first += WINDOW + gap;
  }
  const numbers = found.slice(0, request.count);
  await setSequence(tx, resource.name, request.businessId, numbers.at(-1) ?? 0);
  return numbers.map((number) => format(resource, number));
}

const format = ({ numbered }: Resource, number: number) => `${numbered}${String(number).padStart(4, '0')}`;

async function listFree(
  tx: Database,
  resource: Resource,
  { businessId, except }: NumberRequest,
  { first, count }: { first: number; count: number },
): Promise<number[]> {
  const numbers = Array.from({ length: count }, (_, index) => first + index);
  const rows = await recordsIn(tx)
    .selectFrom(resource.table)
    .select('number')
    .where('business_id', '=', businessId)
    .where(
      'number',
      'in',
      numbers.map((number) => format(resource, number)),
    )
    .execute();
  const used = new Set(rows.map(({ number }) => String(number)));
  return numbers.filter((number) => !used.has(format(resource, number)) && !except.has(format(resource, number)));
}

async function advanceSequence(tx: Database, resource: string, businessId: string, count: number) {
  const row = await tx
    .updateTable('number_sequences')
    .set(({ eb }) => ({ next: eb('next', '+', count) }))
    .where('business_id', '=', businessId)
    .where('resource', '=', resource)
    .where('next', '<', LAST_NUMBER)
    .returning('next')
    .executeTakeFirst();
  return row?.next;
}

/** After as many numbers as there are records. Advances it if another transaction has started it meanwhile. */
async function startSequence(tx: Database, { table, name }: Resource, { businessId, count }: NumberRequest) {
  const { records } = await recordsIn(tx)
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<string>().as('records'))
    .where('business_id', '=', businessId)
    .executeTakeFirstOrThrow();
  const row = await tx
    .insertInto('number_sequences')
    .values({ business_id: businessId, resource: name, next: Number(records) + count })
    .onConflict((conflict) =>
      conflict
        .columns(['business_id', 'resource'])
        .doUpdateSet(({ ref }) => ({ next: ref('excluded.next') }))
        .where('number_sequences.next', '>=', LAST_NUMBER),
    )
    .returning('next')
    .executeTakeFirst();
  return row?.next ?? advanceSequence(tx, name, businessId, count);
}

async function setSequence(tx: Database, resource: string, businessId: string, last: number): Promise<void> {
  await tx
    .updateTable('number_sequences')
    .set({ next: last })
    .where('business_id', '=', businessId)
    .where('resource', '=', resource)
    .execute();
}
