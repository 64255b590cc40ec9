import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { openStorage } from '../../../src/storage/open.ts';

/** Problems that SQLite's own checks find in a file that a server has open. */
export function examineSqlite(url: string): string[] {
  const file = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true, timeout: 5000 });
  try {
    const whole = file.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[];
    const dangling = file.prepare('PRAGMA foreign_key_check').all();
    return [
      ...whole.map(({ integrity_check }) => integrity_check).filter((found) => found !== 'ok'),
      ...dangling.map((row) => `a row refers to nothing: ${JSON.stringify(row)}`),
    ];
  } finally {
    file.close();
  }
}

/** Problems that amcheck finds in any index or table. */
export async function examinePostgres(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('create extension if not exists amcheck');
    await client.query(`select bt_index_check(c.oid, true) from pg_class c join pg_am a on a.oid = c.relam
      join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'i' and a.amname = 'btree' and n.nspname = 'public'`);
    const { rows } = await client.query(`select c.relname, v.msg from pg_class c
      join pg_namespace n on n.oid = c.relnamespace, verify_heapam(c.oid) v where c.relkind = 'r' and n.nspname = 'public'`);
    return rows.map(({ relname, msg }) => `${relname}: ${msg}`);
  } catch (error) {
    return [`amcheck: ${error}`];
  } finally {
    await client.end();
  }
}

/** Ended grants without exactly one event, which the same transaction records. */
export async function findTorn(url: string): Promise<string[]> {
  const storage = await openStorage(url);
  try {
    const { durable } = storage;
    const ended = await durable
      .selectFrom('grants')
      .select(['id', 'revoked_reason'])
      .where('revoked_at', 'is not', null)
      .execute();
    const recorded = await durable.selectFrom('events').select('data').where('type', '=', 'grant.revoked').execute();
    const events = Map.groupBy(
      recorded.map(({ data }) => JSON.parse(data)),
      ({ grantId, reason }) => `${grantId} ${reason}`,
    );
    return ended
      .map(({ id, revoked_reason }) => `${id} ${revoked_reason}`)
      .filter((grant) => events.get(grant)?.length !== 1)
      .map((grant) => `not one event says that this has ended: ${grant}`);
  } finally {
    await storage.close();
  }
}
