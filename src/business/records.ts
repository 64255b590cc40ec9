import { isDeepStrictEqual } from 'node:util';
import type { EventType } from '../events/event-types.ts';
import { recordHappenings } from '../events/happenings.ts';
import { ApiError } from '../http/errors.ts';
import { isId, newId } from '../lib/ids.ts';
import { isCurrency } from '../lib/money.ts';
import { findResource } from '../resources/all.ts';
import { FieldError, idNameOf, type Resource, type Values } from '../resources/resource.ts';
import { type Database, inTransaction, isUniqueViolation } from '../storage/storage.ts';
import { takeNumbers } from './number-sequences.ts';
import { columnsOf, fromNewRow, fromRow, notACurrency, type Row, recordsIn, toColumns } from './rows.ts';

/** A record of a resource: its values as the API shows them, with the details, and its version. */
export interface StoredRecord {
  values: Values;
  version: number;
}

interface RecordId {
  businessId: string;
  id: string;
}

export async function findRecord(db: Database, resource: Resource, recordId: RecordId) {
  if (!isId(recordId.id)) return undefined;
  const row = await selectRecord(db, resource, recordId).executeTakeFirst();
  return row && toRecord(resource, row as Row);
}

function selectRecord(db: Database, resource: Resource, { businessId, id }: RecordId) {
  return recordsIn(db)
    .selectFrom(resource.table)
    .select([...columnsOf(resource, true), 'version'])
    .where('business_id', '=', businessId)
    .where('id', '=', id);
}

function toRecord(resource: Resource, row: Row): StoredRecord {
  const { version, ...fields } = row;
  return { values: fromRow(resource, fields), version: Number(version) };
}

const TAKEN = 'is taken: another record of the business has it';

/** Creates a record from valid input. Throws `FieldError` for values that do not fit. */
export function createRecord(
  db: Database,
  resource: Resource,
  { businessId, input }: { businessId: string; input: Values },
  now: number,
): Promise<StoredRecord> {
  return inTransaction(db, async (tx) => {
    await checkNew(tx, resource, businessId, input);
    const record = await insertRecord(tx, resource, { businessId, values: input }, now);
    if (record) return record;
    throw new FieldError(resource.unique ?? 'id', TAKEN);
  });
}

/**
 * Inserts a record and records what happened; what the values leave out is computed. Undefined if a unique value is taken.
 */
export async function insertRecord(
  tx: Database,
  resource: Resource,
  { businessId, values }: { businessId: string; values: Values },
  now: number,
): Promise<StoredRecord | undefined> {
  const isGiven = !resource.numbered || values.number != null;
  let row = await buildRow(tx, resource, { businessId, values }, now);
  while ((await insertUnlessTaken(tx, resource, [row])) === 0) {
    if (isGiven) return undefined;
    // Another transaction has committed a record with this number since it was chosen.
    row = await buildRow(tx, resource, { businessId, values }, now);
  }
  const record = { values: fromNewRow(resource, row), version: Number(row.version) };
  await recordChanges(tx, resource, [{ businessId, before: undefined, values: record.values }], now);
  return record;
}

async function buildRow(
  tx: Database,
  resource: Resource,
  { businessId, values }: { businessId: string; values: Values },
  now: number,
): Promise<Row> {
  if (!resource.numbered || values.number != null) return toNewRow(resource, { businessId, values }, now);
  // Values that do not fit are rejected before the sequence is locked.
  const row = toNewRow(resource, { businessId, values: { ...values, number: '' } }, now);
  const [number = ''] = await takeNumbers(tx, resource, { businessId, count: 1, except: new Set() });
  return { ...row, number };
}

/** The row of a new record; its id and time of creation may be given. Throws `FieldError` for values that do not fit. */
export function toNewRow(
  resource: Resource,
  { businessId, values: given, id, createdAt }: NewRecord,
  now: number,
): Row {
  const values: Values = { ...initialValues(resource), ...given };
  const computed = { ...values, ...resource.compute?.(values, dayOf(now)) };
  return {
    id: id ?? newId(now),
    business_id: businessId,
    ...toColumns(resource, computed),
    version: 1,
    created_at: createdAt ?? now,
    updated_at: now,
  };
}

interface NewRecord {
  businessId: string;
  values: Values;
  id?: string;
  createdAt?: number;
}

function initialValues({ fields }: Resource): Values {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.initial ?? null]));
}

/** Inserts many records and records what happened. Returns how many were inserted: fewer if unique values are taken. */
export async function insertRecords(
  tx: Database,
  resource: Resource,
  { businessId, rows }: { businessId: string; rows: Row[] },
  now: number,
): Promise<number> {
  const inserted = await insertUnlessTaken(tx, resource, rows);
  if (inserted < rows.length) return inserted;
  const created = rows.map((row) => ({ businessId, before: undefined, values: fromNewRow(resource, row) }));
  await recordChanges(tx, resource, created, now);
  return inserted;
}

async function insertUnlessTaken(tx: Database, { table }: Resource, rows: Row[]): Promise<number> {
  const insert = recordsIn(tx)
    .insertInto(table)
    .values(rows as never)
    .onConflict((conflict) => conflict.doNothing());
  return Number((await insert.executeTakeFirstOrThrow()).numInsertedOrUpdatedRows ?? 0n);
}

/** Every id that a record names must be one of the same business, and its currency one of today. */
async function checkNew(tx: Database, { fields }: Resource, businessId: string, input: Values): Promise<void> {
  if (typeof input.currency === 'string' && !isCurrency(input.currency)) throw notACurrency();
  for (const [name, { references }] of Object.entries(fields)) {
    const id = input[name];
    if (!references || typeof id !== 'string') continue;
    const found = await findRecord(tx, findResource(references), { businessId, id });
    if (!found) throw new FieldError(name, `is not the id of a ${references.replace('_', ' ')} of this business`);
  }
}

interface Change {
  /** From `If-Match`; undefined if the client accepts any version. */
  ifVersion: number | undefined;
  /** The changed values, computed from the current ones. Throws if the record does not allow the change. */
  change(values: Values): Values;
}

/** Changes a record, and records what happened. If no value changes, its version stays. Undefined if there is none. */
export function changeRecord(
  db: Database,
  resource: Resource,
  { businessId, id }: RecordId,
  { ifVersion, change }: Change,
  now: number,
): Promise<StoredRecord | undefined> {
  return inTransaction(db, async (tx) => {
    const current = await lockRecord(tx, resource, { businessId, id });
    if (!current) return undefined;
    if (ifVersion !== undefined && ifVersion !== current.version) throw versionMismatch();
    const changes = change(current.values);
    const isNew = ([name, value]: [string, unknown]) => !isDeepStrictEqual(value, current.values[name]);
    const news = Object.entries(changes).filter(isNew);
    if (news.length === 0) return current;
    await checkNew(tx, resource, businessId, Object.fromEntries(news));
    const values = { ...current.values, ...changes };
    const row = await recordsIn(tx)
      .updateTable(resource.table)
      .set({ ...toColumns(resource, values), version: current.version + 1, updated_at: now })
      .where('business_id', '=', businessId)
      .where('id', '=', id)
      .where('version', '=', current.version)
      .returning([...columnsOf(resource, true), 'version'])
      .executeTakeFirst()
      .catch((error) => rejectTaken(error, resource));
    if (!row) throw versionMismatch();
    const record = toRecord(resource, row as Row);
    await recordChanges(tx, resource, [{ businessId, before: current.values, values: record.values }], now);
    return record;
  });
}

async function lockRecord(tx: Database, resource: Resource, recordId: RecordId) {
  if (!isId(recordId.id)) return undefined;
  const row = await selectRecord(tx, resource, recordId).forUpdate().executeTakeFirst();
  return row && toRecord(resource, row as Row);
}

function rejectTaken(error: unknown, { unique }: Resource): never {
  if (unique && isUniqueViolation(error)) throw new FieldError(unique, TAKEN);
  throw error;
}

function versionMismatch(): ApiError {
  const description = 'The record has changed since that ETag. Read it again, then repeat the change.';
  return new ApiError({ status: 412, code: 'precondition_failed', reason: 'etag_mismatch', description });
}

interface Changed {
  businessId: string;
  /** Undefined for a new record. */
  before: Values | undefined;
  values: Values;
}

function recordChanges(tx: Database, resource: Resource, changes: Changed[], now: number): Promise<void> {
  const happenings = changes.flatMap((changed) =>
    eventsOf(resource, changed).map((event) => ({ ...event, businessId: changed.businessId })),
  );
  return recordHappenings(tx, happenings, now);
}

export function eventsOf({ name, state, eventFields }: Resource, { before, values }: Changed) {
  const data = { [idNameOf(name)]: String(values.id), ...pick(values, eventFields) };
  const status = state && before && before[state.field] !== values[state.field] ? String(values[state.field]) : '';
  const entered = state?.events?.[status];
  const types = [before ? 'updated' : 'created', ...(entered ? [entered] : [])];
  return types.map((type) => ({ type: `${name}.${type}` as EventType, data }));
}

function pick(values: Values, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, String(values[name])]));
}

export function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}
