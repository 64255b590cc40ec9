import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { DAY, SECOND } from '../../lib/clock.ts';
import { newRandomId } from '../../lib/ids.ts';
import { VERSION } from '../../lib/package.ts';
import { MIGRATIONS } from '../migrations/all.ts';
import { type Database, type Storage, StorageError } from '../storage.ts';
import { databaseNow, hasTable, readRequired, readState, rejectNewer, upgradeTables } from './state.ts';

const HEARTBEAT = 10 * SECOND;
/** A node that misses some heartbeats, while the database is unavailable, is still counted. */
const ALIVE_FOR = 6 * HEARTBEAT;
const POLL = SECOND / 4;
/** How often a migration polls for nodes that have missed heartbeats to report again: for two heartbeats. */
export const MISSED_HEARTBEAT_POLLS = (2 * HEARTBEAT) / POLL;

export interface RunningNode {
  /** Such as `host-1:4711`: host and process. */
  name: string;
  release: string;
}

/**
 * Lists this process in `nodes` until the returned function is called, so that no migration removes what it needs.
 * Throws if a migration has begun to. Of the two, at least one sees the other: the process is listed before it checks
 * for migrations, and a migration is listed before it checks for nodes. Each heartbeat checks again, since a migration
 * does not wait for a process that was frozen, and calls `onOutdated` if the process has missed a migration.
 */
export async function registerNode(
  storage: Storage,
  onOutdated: (error: StorageError) => void = () => {},
): Promise<() => Promise<void>> {
  const db = upgradeTables(storage.relaxed);
  const row = {
    id: newRandomId(),
    name: `${hostname()}:${process.pid}`,
    release: VERSION,
    last_migration: lastMigration(),
  };
  const report = () =>
    db
      .insertInto('nodes')
      .values({ ...row, seen_at: databaseNow })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: databaseNow }))
      .execute();
  // Left by processes that were killed.
  await db.deleteFrom('nodes').where('seen_at', '<', sql<number>`${databaseNow} - ${DAY}`).execute();
  await report();
  const sendHeartbeat = async () => {
    await report();
    rejectNewer({ required: await readRequired(storage.durable) });
  };
  // While the database is unavailable, other jobs report it.
  const onError = (error: unknown) => error instanceof StorageError && onOutdated(error);
  const timer = setInterval(() => sendHeartbeat().catch(onError), HEARTBEAT).unref();
  const leave = async () => {
    clearInterval(timer);
    await db
      .deleteFrom('nodes')
      .where('id', '=', row.id)
      .execute()
      .catch(() => {});
  };
  try {
    rejectNewer(await readState(storage.durable));
  } catch (error) {
    await leave();
    throw error;
  }
  return leave;
}

const lastMigration = () => MIGRATIONS.at(-1)?.name ?? '';

/** Nodes of releases that do not have this migration yet. */
export async function listOlderNodes(db: Database, migration: string): Promise<RunningNode[]> {
  return [...(await listRegistered(db, migration)), ...(await listUnregistered(db))];
}

async function listRegistered(db: Database, migration: string, areAlive = true): Promise<RunningNode[]> {
  if (!(await hasTable(db, 'nodes'))) return [];
  return upgradeTables(db)
    .selectFrom('nodes')
    .select(['name', 'release'])
    .where('last_migration', '<', migration)
    .where('seen_at', areAlive ? '>' : '<=', sql<number>`${databaseNow} - ${ALIVE_FOR}`)
    .orderBy('name')
    .execute();
}

/**
 * Older nodes that are listed and have not reported for long were killed, or cut off from the database by an outage that has just
 * ended. Those report again with their next heartbeat: returns them. Counts polls and not time, as the outage may not be over.
 */
export async function awaitMissingNodes(
  db: Database,
  migration: string,
  { polls, onProgress }: { polls: number; onProgress(message: string): void },
): Promise<RunningNode[]> {
  const missing = await listRegistered(db, migration, false);
  if (missing.length === 0) return [];
  const names = missing.map(({ name }) => name).join(', ');
  onProgress(`${migration}: waiting briefly for nodes that have not reported for a minute: ${names}`);
  for (let poll = 0; poll < polls; poll++) {
    await sleep(POLL);
    const alive = await listRegistered(db, migration);
    if (alive.length > 0) return alive;
  }
  return [];
}

/** Nodes of 0.1.0 are not in the table. Their `application_name` is `gatehouse`; later releases append their version to it. */
async function listUnregistered(db: Database): Promise<RunningNode[]> {
  const { rows } =
    await sql<RunningNode>`select distinct coalesce(host(client_addr), 'local') as name, '0.1.0' as release
    from pg_stat_activity where datname = current_database() and application_name = 'gatehouse'`.execute(db);
  return rows;
}
