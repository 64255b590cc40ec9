import { sql } from 'kysely';
import { type Database, inTransaction, isSqlite, StorageError } from './storage.ts';

/**
 * Accepts the keys of a server that starts, by their ids, the signing key first. The first server on a database records its keys, and
 * a later one those beside a known signing key. Throws if the signing key is unknown.
 */
export async function acceptKeys(db: Database, ids: readonly string[], now: number): Promise<void> {
  const known = await listKnownKeys(db);
  if (ids.every((id) => known.includes(id))) return;
  await inTransaction(db, async (tx) => {
    // Of two first servers with different keys, one is refused. On SQLite, transactions that write run one at a time.
    if (!isSqlite(tx)) await sql`lock table signing_keys in share row exclusive mode`.execute(tx);
    await rejectUnknownKey(tx, ids);
    await insertKeys(tx, ids, now);
  });
}

/** What an unknown key encrypts or signs is of no use to the servers of the database. */
export async function rejectUnknownKey(db: Database, [signing = '']: readonly string[]): Promise<void> {
  const known = await listKnownKeys(db);
  if (known.length === 0 || known.includes(signing)) return;
  throw new StorageError(
    `The first key of SECRET_KEYS has the id ${signing}, which the database does not know: its servers use ${known.join(', ')}. Set the keys of these servers. ` +
      `If they are lost, or this key has replaced them since a backup, run: gatehouse keys rotate --use ${signing}`,
  );
}

/** Nothing, until a server has recorded its keys: those of a command may be wrong. */
export async function addKnownKeys(tx: Database, ids: readonly string[], now: number): Promise<void> {
  if (await hasKnownKeys(tx)) await insertKeys(tx, ids, now);
}

export async function removeKnownKeys(tx: Database, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.deleteFrom('signing_keys').where('id', 'in', ids).execute();
}

export async function hasKnownKeys(db: Database): Promise<boolean> {
  return (await listKnownKeys(db)).length > 0;
}

async function insertKeys(tx: Database, ids: readonly string[], now: number): Promise<void> {
  await tx
    .insertInto('signing_keys')
    .values([...new Set(ids)].map((id) => ({ id, recorded_at: now })))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

async function listKnownKeys(db: Database): Promise<string[]> {
  const rows = await db.selectFrom('signing_keys').select('id').orderBy('recorded_at').execute();
  return rows.map(({ id }) => id);
}
