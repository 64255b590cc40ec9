import type { Business } from '../../accounts/businesses.ts';
import { type Actor, recordAudit } from '../../audit/entries.ts';
import type { Clock } from '../../lib/clock.ts';
import { FormError } from '../../lib/errors.ts';
import type { Resource } from '../../resources/resource.ts';
import { type Database, inTransaction } from '../../storage/storage.ts';
import type { FileLine } from '../record-files.ts';
import { insertRecords } from '../records.ts';
import type { Row } from '../rows.ts';
import { addNumbers, countNumbers, type FileNumbers, takeMissing } from './numbers.ts';
import { createRowReader, type LineProblem, type ReadRows } from './rows.ts';

export interface ImportJob {
  business: Business;
  resource: Resource;
  /** Called twice: the file is checked before it is written. */
  open(): AsyncIterable<FileLine>;
  isDryRun: boolean;
  onProgress(step: 'Checking' | 'Writing', records: number): void;
}

export interface ImportResult {
  /** Records in the file. */
  records: number;
  isImported: boolean;
  /** The first ones. */
  problems: LineProblem[];
  moreProblems: number;
}

/** Records per statement. */
const BATCH_SIZE = 500;
const MAX_PROBLEMS = 100;

/** `expense-categories`: the name of a resource on the command line. */
export const kindOf = ({ plural }: Resource) => plural.replaceAll(' ', '-');

/**
 * Imports all records of a file, or none. The file is checked before the transaction, so that the database is locked for
 * writing as briefly as possible.
 */
export async function importRecords(actor: Actor, db: Database, job: ImportJob, clock: Clock): Promise<ImportResult> {
  const { business, resource } = job;
  const numbers: FileNumbers = { given: new Set(), missing: 0 };
  const checked = await readAll(db, job, clock(), async (rows, records) => {
    countNumbers(resource, rows, numbers);
    job.onProgress('Checking', records);
  });
  if (checked.problems.length > 0 || job.isDryRun) return checked;
  const taken = await takeMissing(db, resource, business.id, numbers);
  try {
    return await inTransaction(db, (tx) => write(actor, tx, job, taken, clock()));
  } catch (error) {
    if (error instanceof ImportRejected) return error.result;
    throw error;
  }
}

/** Rolls the transaction back. */
class ImportRejected extends Error {
  readonly result: ImportResult;

  constructor(result: ImportResult) {
    super('The file has problems.');
    this.result = result;
  }
}

async function write(
  actor: Actor,
  tx: Database,
  job: ImportJob,
  numbers: string[],
  now: number,
): Promise<ImportResult> {
  const { business, resource } = job;
  const businessId = business.id;
  const next = numbers.values();
  const result = await readAll(tx, job, now, async (rows, records) => {
    addNumbers(resource, rows, next);
    const inserted = await insertRecords(tx, resource, { businessId, rows }, now);
    if (inserted < rows.length) throw new FormError('file', 'The data has changed meanwhile. Import it again.');
    job.onProgress('Writing', records);
  });
  if (result.problems.length > 0) throw new ImportRejected(result);
  const subject = { kind: 'business' as const, id: businessId, name: business.name };
  const detail = { kind: kindOf(resource), count: String(result.records) };
  await recordAudit(tx, { action: 'business.records_imported', actor, businessId, subject, detail }, now);
  return { ...result, isImported: true };
}

/** Reads the file in batches. After the first problem, it only checks the remaining records. */
async function readAll(
  db: Database,
  { business, resource, open }: ImportJob,
  now: number,
  use: (rows: Row[], records: number) => Promise<void>,
): Promise<ImportResult> {
  const read: ReadRows = createRowReader(resource, business.id);
  const result: ImportResult = { records: 0, isImported: false, problems: [], moreProblems: 0 };
  for await (const lines of batchesOf(open())) {
    const { rows, problems } = await read(db, lines, now);
    result.records += lines.length;
    const shown = problems.slice(0, MAX_PROBLEMS - result.problems.length);
    result.problems.push(...shown);
    result.moreProblems += problems.length - shown.length;
    if (result.problems.length === 0 && rows.length > 0) await use(rows, result.records);
  }
  return result;
}

async function* batchesOf(lines: AsyncIterable<FileLine>): AsyncIterable<FileLine[]> {
  let batch: FileLine[] = [];
  for await (const line of lines) {
    batch.push(line);
    if (batch.length < BATCH_SIZE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
