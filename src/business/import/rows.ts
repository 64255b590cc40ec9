import { copyId, timeOfId } from '../../lib/ids.ts';
import { formatAmount, parseAmount } from '../../lib/money.ts';
import type { Resource, Values } from '../../resources/resource.ts';
import type { Database } from '../../storage/storage.ts';
import type { FileLine } from '../record-files.ts';
import { toNewRow } from '../records.ts';
import { columnOf, type Row, recordsIn } from '../rows.ts';
import type { FieldProblem } from '../validation.ts';
import { createReferenceResolver } from './references.ts';
import { createRecordReader, FieldProblems, type ImportedRecord, reportProblems } from './values.ts';

export interface LineProblem extends FieldProblem {
  line: number;
}

export type ReadRows = (
  db: Database,
  lines: FileLine[],
  now: number,
) => Promise<{ rows: Row[]; problems: LineProblem[] }>;

/** Converts the lines of a file to rows, batch by batch, and reports everything that is wrong with them. */
export function createRowReader(resource: Resource, businessId: string): ReadRows {
  const readRecord = createRecordReader(resource);
  const resolveReferences = createReferenceResolver(resource, businessId);
  const findTaken = createTakenFinder(resource, businessId);
  return async (db, lines, now) => {
    const read = lines.map(({ line, values, problem }) => ({ line, values, problems: problem ? [problem] : [] }));
    const readable = read.filter(({ problems }) => problems.length === 0);
    await resolveReferences(db, readable);
    const rows = readable.flatMap((record) => {
      const row = collectProblems(record.problems, () =>
        toRow(resource, businessId, readRecord(record.values, now), now),
      );
      return row ? [{ ...record, row }] : [];
    });
    await findTaken(db, rows);
    return {
      rows: rows.map(({ row }) => row),
      problems: read.flatMap(({ line, problems }) => problems.map((problem) => ({ line, ...problem }))),
    };
  };
}

/** A reference that was not found is not reported as missing, too. */
function collectProblems<Result>(problems: FieldProblem[], work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof FieldProblems)) throw error;
    const known = problems.map(({ field }) => field.replace(/Id$/, ''));
    problems.push(...error.problems.filter(({ field }) => !known.includes(field.replace(/Id$/, ''))));
    return undefined;
  }
}

function toRow(resource: Resource, businessId: string, { id, values, derived }: ImportedRecord, now: number): Row {
  const kept = id === undefined ? {} : { id: copyId(id, businessId), createdAt: timeOfId(id) ?? now };
  const row = reportProblems(() => toNewRow(resource, { businessId, values, ...kept }, now));
  const problems = Object.entries(derived).flatMap(([name, given]) => checkDerived(name, given, row));
  if (problems.length > 0) throw new FieldProblems(problems);
  return row;
}

/** Sums in a file have to be what its lines add up to. */
function checkDerived(field: string, given: unknown, row: Row): FieldProblem[] {
  const [computed, currency] = [row[columnOf(field)], String(row.currency)];
  if (given === undefined || parseAmount(String(given), currency)?.toString() === computed) return [];
  return [{ field, message: `is ${given}, and is computed as ${formatAmount(String(computed), currency)}` }];
}

interface NewRow {
  row: Row;
  values: Values;
  problems: FieldProblem[];
}

/** Finds records that the business has already, or that are in the file twice. */
function createTakenFinder({ table, unique }: Resource, businessId: string) {
  const columns = unique ? ['id', columnOf(unique)] : ['id'];
  const seen = new Map(columns.map((column) => [column, new Set<string>()]));
  return async (db: Database, rows: NewRow[]): Promise<void> => {
    for (const column of columns) {
      const given = rows.filter(({ row, values }) => row[column] !== null && (column !== 'id' || values.id));
      const inFile = seen.get(column) ?? new Set();
      const stored = await listStored(db, { table, businessId, column }, given);
      for (const { row, values, problems } of given) {
        const value = String(row[column]);
        const original = column === 'id' ? String(values.id) : value;
        if (stored.has(value) || stored.has(original)) {
          problems.push({ field: column, message: `is taken: the business has such a record already: ${original}` });
        } else if (inFile.has(value)) problems.push({ field: column, message: `is in the file twice: ${original}` });
        inFile.add(value);
      }
    }
  };
}

async function listStored(
  db: Database,
  { table, businessId, column }: { table: string; businessId: string; column: string },
  given: NewRow[],
): Promise<Set<string>> {
  if (given.length === 0) return new Set();
  const values = given.map(({ row }) => String(row[column]));
  const originals = column === 'id' ? given.map(({ values: { id } }) => String(id)) : [];
  const rows = await recordsIn(db)
    .selectFrom(table)
    .select(`${column} as value`)
    .where('business_id', '=', businessId)
    .where(column, 'in', [...values, ...originals])
    .execute();
  return new Set(rows.map(({ value }) => String(value)));
}
