import type { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { StorageError, StorageUnavailable } from './errors.ts';
import { foundation } from './migrations/001-foundation.ts';
import { webhooks } from './migrations/002-webhooks.ts';
import { people } from './migrations/003-people.ts';
import { standing } from './migrations/004-standing.ts';
import { recovery } from './migrations/005-recovery.ts';
import { audit } from './migrations/006-audit.ts';
import { usedRotation } from './migrations/007-used-rotation.ts';
import { clock } from './migrations/008-clock.ts';
import { pkceUse } from './migrations/009-pkce-use.ts';
import type { Migration } from './migrations/change.ts';
import type { Database, Storage } from './storage.ts';

/** In order, forwards only. A change that has been released is never edited. */
const CHANGES: Record<string, Migration> = {
  '001-foundation': foundation,
  '002-webhooks': webhooks,
  '003-people': people,
  '004-standing': standing,
  '005-recovery': recovery,
  '006-audit': audit,
  '007-used-rotation': usedRotation,
  '008-clock': clock,
  '009-pkce-use': pkceUse,
};
const TABLE = 'migrations';

/** Before anything is served or changed: the tables are ours, and neither older nor newer than this program. */
export async function prepare(storage: Storage): Promise<void> {
  if (storage.migratesItself) {
    await migrate(storage);
    return;
  }
  if ((await listPending(storage.durable)).length > 0) {
    throw new StorageError(
      'The database that DATABASE_URL names is not up to date. Run: npm run --silent gatehouse -- migrate',
    );
  }
}

/** The changes that this program knows and the database has not. Refuses what is not ours, or newer. */
export async function listPending(db: Database): Promise<string[]> {
  const applied = await listApplied(db);
  return Object.keys(CHANGES).filter((name) => !applied.includes(name));
}

/**
 * Brings the database up to date and returns the names of what it changed. Several may try at once. Where nothing is to
 * be done it only reads, and so waits for nobody who writes. `upTo` names the last change to apply.
 */
export async function migrate(storage: Storage, upTo?: string): Promise<string[]> {
  if ((await listPending(storage.durable)).length === 0) return [];
  const migrator = new Migrator({
    db: storage.durable,
    migrationTableName: TABLE,
    migrationLockTableName: `${TABLE}_lock`,
    provider: {
      getMigrations: async () =>
        Object.fromEntries(
          Object.entries(CHANGES).map(([name, change]) => [
            name,
            { up: (db: Kysely<unknown>) => change(db, storage.types) },
          ]),
        ),
    },
  });
  const { error, results } = await (upTo === undefined ? migrator.migrateToLatest() : migrator.migrateTo(upTo));
  if (error instanceof StorageUnavailable) throw error;
  if (error) throw foreign(error);
  return results?.map(({ migrationName }) => migrationName) ?? [];
}

async function listApplied(db: Database): Promise<string[]> {
  const all = await db.introspection.getTables().catch(refuse);
  const tables = all.filter(({ schema }) => schema === undefined || schema === 'public');
  const ours = tables.find(({ name }) => name === TABLE);
  if (!ours) {
    const taken = tables.find(({ name }) => name === 'grants' || name === 'users');
    if (taken) throw foreign(`it has a table ${taken.name} already`);
    return [];
  }
  if (!ours.columns.some(({ name }) => name === 'name')) throw foreign(`its table ${TABLE} is another program's`);
  const rows = await (db as unknown as Kysely<Record<string, { name: string }>>)
    .selectFrom(TABLE)
    .select('name')
    .execute();
  const unknown = rows.find(({ name }) => !Object.hasOwn(CHANGES, name));
  if (unknown) {
    throw new StorageError(
      `The database that DATABASE_URL names was changed by a newer Gatehouse (${unknown.name}). Run that version.`,
    );
  }
  return rows.map(({ name }) => name);
}

function refuse(error: unknown): never {
  throw error instanceof StorageUnavailable ? error : foreign(error);
}

function foreign(reason: unknown): StorageError {
  return new StorageError(`DATABASE_URL names a database that is not Gatehouse's: ${reason}.`);
}
