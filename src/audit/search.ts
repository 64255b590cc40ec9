import { escapeFormulas } from '../lib/csv.ts';
import { fairQueue } from '../lib/fair-queue.ts';
import type { Database } from '../storage/storage.ts';
import {
  type AuditEntry,
  type AuditFilter,
  actionName,
  applyFilter,
  describeDetail,
  type EntryQuery,
  isFiltered,
  listEntries,
  type Start,
  selectEntries,
  startId,
  toEntry,
} from './log.ts';

/** Rows per step. On SQLite nothing else runs during a step. */
const STEP = 500;
/** A page then offers to search further back. */
const MAX_ROWS_PER_PAGE = 10_000;

/** One step at a time in each process. Businesses take turns, as if the platform and each user's own entries were one, too. */
const joinReaders = fairQueue({ maxMembers: 20, counted: 'searches and exports of this log at the same time' });
const PLATFORM = 'platform';

/** The program that reads. Once the client is gone, nothing more is read. */
interface Reader {
  client?: AbortSignal | undefined;
}

interface SearchResult {
  entries: AuditEntry[];
  /** Set if the range was not read to its end: the id to continue from. */
  searchedTo?: string;
}

/** Newest first. Stops early when it has read as many rows as one page may read. */
export async function searchEntries(
  db: Database,
  { before, until, limit, client, ...filter }: AuditFilter & Start & Reader & { limit: number },
): Promise<SearchResult> {
  if (!isFiltered(filter)) return { entries: await listEntries(db, { ...filter, before, until, limit }) };
  const entries: AuditEntry[] = [];
  let read = 0;
  for await (const step of readSteps(db, { filter, start: startId({ before, until }), client })) {
    entries.push(...step.entries);
    read += STEP;
    if (entries.length >= limit) return { entries: entries.slice(0, limit) };
    if (step.last !== undefined && read >= MAX_ROWS_PER_PAGE) return { entries, searchedTo: step.last };
  }
  return { entries };
}

/** What a user did, and what was done to them, newest first: each is a range of an index. */
export async function listEntriesOfUser(
  db: Database,
  { userId, limit, client }: Reader & { userId: string; limit: number },
): Promise<AuditEntry[]> {
  const found = new Map<string, AuditEntry>();
  for (const filter of [{ personId: userId }, { subjectId: userId }]) {
    let read = 0;
    for await (const { entries } of readSteps(db, { filter, group: userId, client })) {
      for (const entry of entries) found.set(entry.id, entry);
      read += entries.length;
      if (read >= limit) break;
    }
  }
  return [...found.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit);
}

interface Range extends Reader {
  filter: AuditFilter;
  start?: string | undefined;
  /** Whose steps take turns with those of others. */
  group?: string;
}

interface Step {
  entries: AuditEntry[];
  /** The id of the oldest row that was read; undefined at the end of the range. */
  last: string | undefined;
}

/** All matching entries of the range, one step at a time. */
async function* readSteps(
  db: Database,
  { filter, start, client, group = filter.tenant?.businessId ?? PLATFORM }: Range,
): AsyncGenerator<Step> {
  const reader = joinReaders(group, client);
  try {
    for (let before = start; ; ) {
      const step = await reader.run(() => readStep(db, filter, before));
      yield step;
      if (step.last === undefined) return;
      before = step.last;
    }
  } finally {
    reader.leave();
  }
}

async function readStep(db: Database, filter: AuditFilter, before: string | undefined): Promise<Step> {
  const last = await olderThan(selectEntries(db, filter), before)
    .clearSelect()
    .select('audit_entries.id')
    .offset(STEP - 1)
    .limit(1)
    .executeTakeFirst();
  const rows = await applyFilter(olderThan(selectStep(db, filter, last?.id), before), filter).execute();
  return { entries: rows.map((row) => toEntry(row, filter.tenant)), last: last?.id };
}

/** Only one lower bound on the id: of two, SQLite uses the first for its index and would read the whole range. */
function selectStep(db: Database, filter: AuditFilter, last: string | undefined): EntryQuery {
  if (last === undefined) return selectEntries(db, filter);
  return selectEntries(db, { ...filter, since: undefined }).where('audit_entries.id', '>=', last);
}

function olderThan(query: EntryQuery, before: string | undefined): EntryQuery {
  const newestFirst = query.orderBy('audit_entries.id', 'desc');
  return before === undefined ? newestFirst : newestFirst.where('audit_entries.id', '<', before);
}

/** Per file; `before` continues after its last entry. */
export const MAX_EXPORTED = 100_000;

const COLUMNS: [name: string, value: (entry: AuditEntry) => string | null | undefined][] = [
  ['id', ({ id }) => id],
  ['time', ({ at }) => new Date(at).toISOString()],
  ['action', ({ action }) => action],
  ['what', ({ action }) => actionName(action)],
  ['actor_kind', ({ actor }) => actor.kind],
  ['actor_id', ({ actor }) => actor.id],
  ['actor', ({ actor }) => actor.name],
  ['actor_email', ({ actor }) => actor.email],
  ['address', ({ actor }) => actor.address],
  ['subject_kind', ({ subject }) => subject.kind],
  ['subject_id', ({ subject }) => subject.id],
  ['subject', ({ subject }) => subject.name],
  ['business_id', ({ business }) => business?.id],
  ['business', ({ business }) => business?.name],
  ['detail', ({ detail }) => describeDetail(detail)],
];

/** The entries as CSV, one step at a time: a long log is never in memory as a whole. */
export async function* exportEntries(db: Database, { before, until, client, ...filter }: AuditFilter & Start & Reader) {
  let head = csvLine(COLUMNS.map(([name]) => name));
  let exported = 0;
  for await (const { entries } of readSteps(db, { filter, start: startId({ before, until }), client })) {
    const fitting = entries.slice(0, MAX_EXPORTED - exported);
    yield head + fitting.map(toCsvLine).join('');
    exported += fitting.length;
    if (exported === MAX_EXPORTED) return;
    head = '';
  }
}

function toCsvLine(entry: AuditEntry): string {
  return csvLine(COLUMNS.map(([, value]) => value(entry) ?? ''));
}

const CONTROL_AT_START = /^[\t\r\n]/;

/** RFC 4180, with every cell in quotes, and without formulas. */
export function csvLine(cells: string[]): string {
  return `${cells.map((cell) => `"${asText(cell).replaceAll('"', '""')}"`).join(',')}\r\n`;
}

function asText(cell: string): string {
  const escaped = escapeFormulas(cell);
  return CONTROL_AT_START.test(escaped) ? `'${escaped}` : escaped;
}
