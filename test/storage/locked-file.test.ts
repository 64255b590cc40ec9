import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { sql } from 'kysely';
import { newWorld } from '../support/world.ts';

const world = await newWorld();
const browser = await world.signedIn();
const works = async (token: string) => (await world.listInvoices(token)).status === 200;

test('while another process holds the database for writing, writes are a 503 and reads go on [T29][R5]', async () => {
  const code = await world.allow({}, browser);
  const { access_token, refresh_token } = await world.connect({}, browser);
  await sql`pragma busy_timeout = 0`.execute(world.storage().durable);
  const file = new DatabaseSync(world.settings.databaseUrl.slice('sqlite:'.length));
  file.exec('begin immediate');

  const refused = [await world.exchange(code), await world.refresh(refresh_token), await world.revoke(refresh_token)];
  const readable = await works(access_token);
  file.exec('rollback');
  file.close();

  for (const { status } of refused) assert.equal(status, 503);
  assert.equal(readable, true);
  assert.equal((await world.exchange(code)).status, 200);
  assert.equal((await world.refresh(refresh_token)).status, 200);
  await sql`pragma busy_timeout = 5000`.execute(world.storage().durable);
});
