import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeyring, idsOf } from '../../../src/lib/keyring.ts';
import { startServer } from '../../../src/server.ts';
import { acceptKeys, addKnownKeys, hasKnownKeys } from '../../../src/storage/known-keys.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const [known = ''] = server.settings.secretKeys;
const added = 'the-key-that-is-added-to-a-known-one';
const unknown = 'the-key-that-no-server-has-ever-used';
const idOf = (key: string) => idsOf(createKeyring([key])).join();
const restart = (...secretKeys: string[]) => server.restart({ settings: { secretKeys } });

test('a server whose signing key the database does not know does not start, and the error names the known ones', async () => {
  const teaches = new RegExp(
    `has the id ${idOf(unknown)}, which the database does not know.*use ${idOf(known)}.*keys rotate --use ${idOf(unknown)}`,
  );

  for (const secretKeys of [[unknown], [unknown, known]]) {
    await assert.rejects(startServer({ ...server.settings, secretKeys }, server.clock), teaches);
  }
});

test('a key that a server had beside a known one may sign later, as in a rotation by hand', async () => {
  await restart(known, added);
  await restart(added, known);
  await restart(known);

  assert.equal((await server.listInvoices((await server.connect()).access_token)).status, 200);
});

test('of servers that start first at the same time with different keys, one is accepted', async () => {
  const db = server.storage().durable;
  await db.deleteFrom('signing_keys').execute();

  const results = await Promise.allSettled(['one', 'two', 'three'].map((id) => acceptKeys(db, [id], 1)));

  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.equal((await db.selectFrom('signing_keys').selectAll().execute()).length, 1);
});

test('before a server has recorded its keys, a change by a command records none', async () => {
  const db = server.storage().durable;
  await db.deleteFrom('signing_keys').execute();

  await addKnownKeys(db, ['perhaps-wrong'], 1);

  assert.equal(await hasKnownKeys(db), false);
});
