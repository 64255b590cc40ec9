import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { copyFileSync, rmSync } from 'node:fs';
import { sql } from 'kysely';
import { idFromBytes } from '../../src/lib/ids.ts';
import type { Row } from '../../src/storage/tables.ts';
import type { World } from './world.ts';

/** The grant that a code or token belongs to: its id stands in the text. */
export function grantIdIn(token: string): string {
  return idFromBytes(Buffer.from(token.slice(4), 'base64url').subarray(4, 20));
}

export async function readGrant(world: World, token: string): Promise<Row<'grants'>> {
  const rows = await world.storage().durable.selectFrom('grants').selectAll().execute();
  const row = rows.find(({ id }) => id === grantIdIn(token));
  assert.ok(row, 'the grant of this token is stored');
  return row;
}

export async function countGrants(world: World): Promise<number> {
  return (await world.storage().durable.selectFrom('grants').select('id').execute()).length;
}

/** While `work` runs, SQLite refuses every write, as it does on a disk that has become read-only. */
export async function withoutWrites<Result>(world: World, work: () => Promise<Result>): Promise<Result> {
  await sql`pragma query_only = on`.execute(world.storage().durable);
  try {
    return await work();
  } finally {
    await sql`pragma query_only = off`.execute(world.storage().durable);
  }
}

/** Copies the database as it is now. What it returns puts that copy back, as after a failover or a restored backup. */
export async function backUp(world: World): Promise<() => Promise<void>> {
  const file = world.settings.databaseUrl.slice('sqlite:'.length);
  const copy = `${file}.${randomUUID()}`;
  await sql`vacuum into ${copy}`.execute(world.storage().durable);
  const putBack = () => {
    for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true });
    copyFileSync(copy, file);
  };
  return () => world.restart({ meanwhile: putBack });
}
