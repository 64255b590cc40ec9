import assert from 'node:assert/strict';
import { readId } from '../../src/lib/ids.ts';
import type { Row } from '../../src/storage/tables.ts';
import type { World } from './world.ts';

/** The grant that a code or token belongs to: its id stands in the text. */
export function grantIdIn(token: string): string {
  return readId(Buffer.from(token.slice(4), 'base64url'), 4);
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

/** While `work` runs, the database refuses every write. */
export async function withoutWrites<Result>(world: World, work: () => Promise<Result>): Promise<Result> {
  const allowAgain = await world.database.refuseWrites(world.storage());
  try {
    return await work();
  } finally {
    await allowAgain();
  }
}

/** Copies the database as it is now. What it returns puts that copy back, as after a failover or a restored backup. */
export async function backUp(world: World): Promise<() => Promise<void>> {
  const putBack = await world.database.copy(world.storage());
  return () => world.restart({ meanwhile: putBack });
}
