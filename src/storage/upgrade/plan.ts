import { sql } from 'kysely';
import { monotonicClock } from '../../lib/clock.ts';
import { MIGRATIONS } from '../migrations/all.ts';
import type { Migration, Step } from '../migrations/migration.ts';
import type { Database, Storage } from '../storage.ts';
import { listOlderNodes, type RunningNode } from './nodes.ts';
import { findProgress } from './progress.ts';
import { hasTable, pendingOf, readState, rejectNewer } from './state.ts';
import { titleOf } from './statements.ts';

interface UpgradePlan {
  steps: PlannedStep[];
  /** The sum of the estimates. */
  seconds: number;
  /** Nodes for which the first contract migration waits, with all that follows. */
  olderNodes: RunningNode[];
}

export interface PlannedStep {
  migration: string;
  phase: Migration['phase'];
  title: string;
  table: string | null;
  rows: number;
  /** With indexes. */
  bytes: number;
  lock: string;
  /** An estimate, from the rows of the table and the time that reading some of them takes now. */
  seconds: number;
  /** Whether it waits until no node of an older release is running. */
  waits: boolean;
}

/** Reads only. Throws if the database is another program's, or a newer one has contracted it. */
export async function planUpgrade(storage: Storage, migrations = MIGRATIONS): Promise<UpgradePlan> {
  const { durable } = storage;
  const state = await readState(durable);
  rejectNewer(state, migrations);
  const olderNodes = await findOlderNodes(storage, pendingOf(state, migrations));
  const steps: PlannedStep[] = [];
  const sizes = new Map<string, TableSize>();
  let waits = false;
  for (const migration of pendingOf(state, migrations)) {
    waits ||= migration.phase === 'contract' && olderNodes.length > 0;
    for (const step of migration.steps.slice(await countComplete(durable, migration))) {
      steps.push({
        migration: migration.name,
        phase: migration.phase,
        waits,
        ...(await describe(storage, step, sizes)),
      });
    }
  }
  return { steps, seconds: steps.reduce((sum, { seconds }) => sum + seconds, 0), olderNodes };
}

async function findOlderNodes({ engine, durable }: Storage, pending: Migration[]): Promise<RunningNode[]> {
  const contract = pending.find(({ phase }) => phase === 'contract');
  return contract && engine === 'postgres' ? listOlderNodes(durable, contract.name) : [];
}

async function countComplete(db: Database, { name }: Migration): Promise<number> {
  if (!(await hasTable(db, 'migration_progress'))) return 0;
  return (await findProgress(db, name))?.step ?? 0;
}

/** Each table is measured once. */
async function describe(storage: Storage, step: Step, sizes: Map<string, TableSize>) {
  const table = step.table ?? null;
  const size = (table === null ? undefined : sizes.get(table)) ?? (await measure(storage, table));
  if (table !== null) sizes.set(table, size);
  const { rows, bytes, readTime } = size;
  const seconds = round(MIN_SECONDS + (rows * readTime * READS_PER_ROW[storage.engine][step.kind]) / 1000);
  return { title: titleOf(step), table, rows, bytes, lock: LOCKS[storage.engine][step.kind], seconds };
}

const round = (seconds: number) => (seconds < 10 ? Math.ceil(10 * seconds) / 10 : Math.ceil(seconds));

/** Every step takes at least this long, for its round trips. */
const MIN_SECONDS = 0.05;

/**
 * The time that a step takes for one row, in multiples of the time to read the row. Measured with two million grants. Half of a
 * backfill is pauses.
 */
const READS_PER_ROW: Record<Storage['engine'], Record<Step['kind'], number>> = {
  postgres: { change: 0, index: 8, 'drop index': 0, backfill: 200, check: 1 },
  sqlite: { change: 0, index: 8, 'drop index': 0, backfill: 20, check: 0 },
};

const BRIEF_LOCK = 'ACCESS EXCLUSIVE, for milliseconds, tried again while the table is in use';
const CONCURRENT = 'SHARE UPDATE EXCLUSIVE: reads and writes continue';
const WHOLE_FILE = 'the whole file, for writes';

const LOCKS: Record<Storage['engine'], Record<Step['kind'], string>> = {
  postgres: {
    change: BRIEF_LOCK,
    index: CONCURRENT,
    'drop index': CONCURRENT,
    backfill: 'ROW EXCLUSIVE: the rows of one batch, for about 30 ms',
    check: `${BRIEF_LOCK}; then ${CONCURRENT}`,
  },
  sqlite: {
    change: WHOLE_FILE,
    index: WHOLE_FILE,
    'drop index': WHOLE_FILE,
    backfill: WHOLE_FILE,
    check: 'none: SQLite has no such step',
  },
};

/** Enough rows to time, and few enough to read from a busy server. */
const SAMPLE = 20_000;
/** The first time may read from the disk. */
const REPEATS = 5;

interface TableSize {
  rows: number;
  bytes: number;
  /** Milliseconds for a row. */
  readTime: number;
}

async function measure({ engine, durable }: Storage, table: string | null): Promise<TableSize> {
  if (table === null || !(await hasTable(durable, table))) return { rows: 0, bytes: 0, readTime: 0 };
  const { rows, bytes } = await (engine === 'postgres' ? sizeOnPostgres(durable, table) : sizeOnSqlite(durable, table));
  const read = sql`select count(*) from (select * from ${sql.table(table)} limit ${SAMPLE}) as sample`;
  const times: number[] = [];
  for (let n = 0; n < REPEATS; n++) {
    const began = monotonicClock();
    await read.execute(durable);
    times.push(monotonicClock() - began);
  }
  const [median = 0] = times.sort((a, b) => a - b).slice(REPEATS / 2);
  return { rows, bytes, readTime: median / Math.max(1, Math.min(rows, SAMPLE)) };
}

async function sizeOnPostgres(db: Database, table: string): Promise<{ rows: number; bytes: number }> {
  const { rows } = await sql<{ rows: number; bytes: number }>`
    select reltuples::bigint as rows, pg_total_relation_size(oid) as bytes from pg_class where oid = to_regclass(${table})`.execute(
    db,
  );
  const [found = { rows: 0, bytes: 0 }] = rows;
  // A table that was never analyzed has -1.
  return found.rows >= 0 ? found : { ...found, rows: await countRows(db, table) };
}

/** Rows of SQLite have no size of their own: that of the file, in proportion, would be a guess. */
async function sizeOnSqlite(db: Database, table: string): Promise<{ rows: number; bytes: number }> {
  return { rows: await countRows(db, table), bytes: 0 };
}

async function countRows(db: Database, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db);
  return Number(rows[0]?.count ?? 0);
}
