import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { recordSql } from '../bench/recorded-sql.ts';
import { newWorld } from '../support/world.ts';

test('to check a token, the rows of the grant and its app are read; of people and memberships an index says enough', async () => {
  const world = await newWorld();
  const { access_token } = await world.connect();

  const said = await recordSql(() => world.listInvoices(access_token));
  const [check = ''] = said.filter((text) => text.includes('"grants"'));
  const { rows } = await sql.raw<{ detail: string }>(`explain query plan ${check}`).execute(world.storage().durable);

  assert.deepEqual(
    rows.map(({ detail }) => detail.replace(/ \(.*/, '')),
    [
      'SEARCH grants USING INDEX sqlite_autoindex_grants_1',
      'SEARCH apps USING INDEX sqlite_autoindex_apps_1',
      'SEARCH disabled USING INDEX users_disabled',
      'SEARCH memberships USING COVERING INDEX memberships_since',
      'SEARCH revoked USING COVERING INDEX sqlite_autoindex_revoked_access_tokens_1',
    ],
  );
});
