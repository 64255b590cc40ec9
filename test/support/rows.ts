import assert from 'node:assert/strict';
import { readId } from '../../src/lib/ids.ts';
import type { Row } from '../../src/storage/tables.ts';
import type { TestServer } from './test-server.ts';

/** The id of a grant, which its codes and tokens contain. */
export function grantIdIn(token: string): string {
  return readId(Buffer.from(token.slice(4), 'base64url'), 4);
}

export async function readGrant(server: TestServer, token: string): Promise<Row<'grants'>> {
  const rows = await server.storage().durable.selectFrom('grants').selectAll().execute();
  const row = rows.find(({ id }) => id === grantIdIn(token));
  assert.ok(row, 'the grant of this token is stored');
  return row;
}

export async function countGrants(server: TestServer): Promise<number> {
  return (await server.storage().durable.selectFrom('grants').select('id').execute()).length;
}

/** Runs `work` while the database rejects every write. */
export async function withReadOnlyDatabase<Result>(server: TestServer, work: () => Promise<Result>): Promise<Result> {
  const allowWrites = await server.database.rejectWrites(server.storage());
  try {
    return await work();
  } finally {
    await allowWrites();
  }
}

/** Copies the database. The returned function restores the copy, as after a failover or a restored backup. */
export async function copyDatabase(server: TestServer): Promise<() => Promise<void>> {
  const restore = await server.database.copy(server.storage());
  return () => server.restart({ meanwhile: restore });
}
