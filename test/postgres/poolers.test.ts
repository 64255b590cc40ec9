import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openStorage } from '../../src/storage/open.ts';
import { StorageUnavailable } from '../../src/storage/storage.ts';
import { databaseUrl, runAsAdmin, TEMPLATE, withLongConnectTimeout } from '../support/databases.ts';
import { findPgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { startStatementRecorder } from '../support/statement-recorder.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

const postgres = await startPostgres();
await createTemplate(postgres.url);
after(() => postgres.remove());

let created = 0;
async function newDatabase(): Promise<string> {
  const name = `pooled_${created++}`;
  await runAsAdmin(postgres.url, [`create database ${name} template ${TEMPLATE}`]);
  return databaseUrl(postgres.url, name);
}

const bouncer = findPgBouncer();
const NEEDS_PGBOUNCER = { skip: bouncer ? false : 'PgBouncer is not installed' };

const throughPooler = (url: string, more = '') => withLongConnectTimeout(`${url}?pooler=transaction${more}`);

/** Allow, exchange, refresh, call, introspect, revoke and disconnect, several at a time; and the jobs of a server. */
async function useEverything(server: TestServer): Promise<void> {
  const users = await Promise.all(
    Array.from({ length: 8 }, (_, index) => server.addUser(`User${index}`, [[server.acme, 'member']])),
  );
  await server.addInvoice(server.acme);
  await Promise.all(
    users.map(async (user) => {
      const browser = await server.signedIn(user);
      const { body: first } = await server.exchange(await server.allow({}, browser));
      const { body: second } = await server.refresh(first.refresh_token);
      assert.equal((await server.listInvoices(second.access_token)).status, 200);
      // A silent authorization.
      const { body: other } = await server.exchange(await server.allow({}, browser));
      assert.equal((await server.introspect(other.access_token)).body.active, true);
      assert.equal((await server.revoke(other.refresh_token)).status, 200);
      assert.equal((await server.refresh(other.refresh_token)).body.error, 'invalid_grant');
      assert.equal((await server.refresh(second.refresh_token)).status, 200);
    }),
  );
}

const SESSION_STATE = [
  /\bset (?!local\b)(?:session\b|\w+ (?:=|to)\b)/i,
  /^\s*(?:listen|unlisten|notify|prepare|deallocate|discard|declare|fetch)\b/i,
  /\bpg_(?:try_)?advisory_lock/i,
  /\b(?:temp|temporary)\s+table\b/i,
  /set_config\([^)]*,\s*false\s*\)/i,
];

test('for a pooler in transaction mode, no statement of the server depends on a session', async () => {
  const recorder = await startStatementRecorder(postgres.port);
  const url = (await newDatabase()).replace(`:${postgres.port}/`, `:${recorder.port}/`);
  await useEverything(await startTestServer({ DATABASE_URL: throughPooler(url) }));

  assert.ok(recorder.startups.length > 0 && recorder.statements.size > 50);
  for (const parameters of recorder.startups) assert.equal(parameters.get('options'), undefined);
  assert.deepEqual([...recorder.names], []);
  const stateful = [...recorder.statements].filter((text) => {
    // The SET of an UPDATE, and row locks, are no session settings.
    const isWrite = /^\s*(?:with|insert|update|select|delete)\b/i.test(text);
    return SESSION_STATE.slice(isWrite ? 1 : 0).some((pattern) => pattern.test(text));
  });
  assert.deepEqual(stateful, []);
  const begins = [...recorder.statements].filter((text) => text.startsWith('begin'));
  const hasBegin = (...settings: string[]) =>
    begins.some((text) => settings.every((setting) => text.includes(setting)));
  assert.ok(hasBegin('set local synchronous_commit = on', 'set local lock_timeout = 2000'));
  // The rotations.
  assert.ok(hasBegin('set local synchronous_commit = off', 'set local lock_timeout = 1'));
});

test('everything works behind PgBouncer in transaction mode', NEEDS_PGBOUNCER, async () => {
  const url = await startPgBouncer(bouncer?.program ?? '', await newDatabase());

  await useEverything(await startTestServer({ DATABASE_URL: throughPooler(url) }));
});

test('PgBouncer 1.21 and later keep named statements', NEEDS_PGBOUNCER, async (context) => {
  const [major = 0, minor = 0] = (bouncer?.version ?? '').split('.').map(Number);
  if (major === 1 && minor < 21) return context.skip(`this is PgBouncer ${bouncer?.version}`);
  const url = await startPgBouncer(bouncer?.program ?? '', await newDatabase(), ['max_prepared_statements = 200']);

  await useEverything(await startTestServer({ DATABASE_URL: throughPooler(url, '&prepared_statements=on') }));
});

test('without the parameter, the error says what to add', NEEDS_PGBOUNCER, async () => {
  for (const settings of [[], ['ignore_startup_parameters = options']]) {
    const storage = await openStorage(await startPgBouncer(bouncer?.program ?? '', await newDatabase(), settings));
    after(() => storage.close());

    await assert.rejects(storage.check(), (error) => {
      assert.ok(error instanceof StorageUnavailable);
      assert.match(error.message, /add pooler=transaction to DATABASE_URL/);
      return true;
    });
  }
});
