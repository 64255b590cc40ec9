import { FormError } from '../../lib/errors.ts';
import type { Resource } from '../../resources/resource.ts';
import { type Database, inTransaction } from '../../storage/storage.ts';
import { takeNumbers } from '../number-sequences.ts';
import type { Row } from '../rows.ts';

/** The numbers that a file gives to its records, and how many records have none. */
export interface FileNumbers {
  given: Set<string>;
  missing: number;
}

/** Numbers per transaction. */
const BATCH_SIZE = 500;

export function countNumbers({ numbered }: Resource, rows: Row[], numbers: FileNumbers): void {
  if (!numbered) return;
  for (const { number } of rows) {
    if (number === null) numbers.missing++;
    else numbers.given.add(String(number));
  }
}

/**
 * The numbers of the records that have none. Each batch is a transaction of its own: in that of the import, the sequence would be
 * locked until all records are written. An import that fails afterwards leaves a gap.
 */
export async function takeMissing(
  db: Database,
  resource: Resource,
  businessId: string,
  { given: except, missing }: FileNumbers,
): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < missing) {
    const count = Math.min(BATCH_SIZE, missing - taken.length);
    const batch = await inTransaction(db, (tx) => takeNumbers(tx, resource, { businessId, count, except }));
    taken.push(...batch);
  }
  return taken;
}

export function addNumbers({ numbered }: Resource, rows: Row[], taken: Iterator<string, undefined>): void {
  if (!numbered) return;
  for (const row of rows.filter(({ number }) => number === null)) {
    const { value } = taken.next();
    if (value === undefined) throw new FormError('file', 'The file has changed meanwhile. Import it again.');
    row.number = value;
  }
}
