import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from 'kysely';
import { createKeyring } from '../../src/lib/keyring.ts';
import { openStorage } from '../../src/storage/open.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { createBrowser } from '../support/browser.ts';
import { createClient } from '../support/client.ts';
import { createCommandLineWithDatabase } from '../support/command-line.ts';
import { createFixtures } from '../support/fixtures.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const DAYS = 24 * 60 * 60;

/** A command line with a key file, from which `serve` and the commands read their keys. */
async function createKeyFile() {
  const cli = await createCommandLineWithDatabase();
  const file = join(cli.folder, 'keys');
  writeFileSync(file, 'the-first-key-that-there-ever-was-here\n', { mode: 0o600 });
  const env = { SECRET_KEYS_FILE: file, WEBHOOKS_TO_LOOPBACK: 'yes' };
  const readKeys = () => readFileSync(file, 'utf8').trim().split('\n');
  return { cli, file, env, readKeys, keys: (...args: string[]) => cli.json(['keys', ...args], { env }) };
}

async function connectApp({ cli, readKeys }: Awaited<ReturnType<typeof createKeyFile>>) {
  const storage = await openStorage(cli.databaseUrl);
  const fixtures = await createFixtures(() => storage, Date.now);
  const receiver = await startWebhookReceiver();
  const endpoint = { appId: fixtures.ledger.id, url: receiver.url, eventTypes: ['invoice.paid'] };
  const added = await storage.transaction((db) => insertEndpoint(db, createKeyring(readKeys()), endpoint, Date.now()));
  await storage.close();
  const clientOf = ({ api, web }: { api: string; web: string }) =>
    createClient({
      api,
      browse: () => createBrowser(web, [api, web]),
      user: fixtures.ada,
      app: fixtures.ledger,
      business: fixtures.acme,
    });
  const sendTest = () => cli.json(['endpoint', 'test', '--app', fixtures.ledger.id, '--endpoint', added.endpoint.id]);
  return { ...fixtures, receiver, clientOf, sendTest };
}

test('a key is replaced without ending a token or losing a webhook, and once the old one is gone its tokens fail', async () => {
  const setup = await createKeyFile();
  const { cli, env, file, keys } = setup;
  const { clientOf, receiver, sendTest } = await connectApp(setup);
  const [old = ''] = setup.readKeys();
  let server = await cli.serve(env);
  const before = await clientOf(server).connect();
  const address = { BASE_URL: server.api, CONSENT_URL: server.web };
  const restart = async () => {
    // A killed server would keep its lease of the endpoint for a minute.
    await server.end('SIGTERM');
    server = await cli.serve({ ...env, ...address });
    return clientOf(server);
  };

  const rotated = await keys('rotate');
  const [fresh = '', ...others] = setup.readKeys();
  const client = await restart();
  const stillWorks = (await client.listInvoices(before.access_token)).status;
  const after = await client.connect();
  const listed = await keys('list');
  const tooEarly = await cli.run(['keys', 'prune'], { env });
  utimesSync(file, Date.now() / 1000 - 31 * DAYS, Date.now() / 1000 - 31 * DAYS);
  const stillNeeded = await cli.run(['keys', 'prune'], { env });
  const reencrypted = await keys('reencrypt');
  await sendTest();
  const [first] = await receiver.waitFor(1);
  const pruned = await keys('prune');
  const last = await restart();
  const oldToken = await last.listInvoices(before.access_token);
  const oldRefresh = await last.refresh(before.refresh_token);
  const newToken = await last.listInvoices(after.access_token);
  await sendTest();
  const [, second] = await receiver.waitFor(2);
  await server.end('SIGKILL');

  assert.notEqual(fresh, old);
  assert.deepEqual(others, [old]);
  assert.equal(listed.keys[0].id, rotated.signs);
  assert.deepEqual(
    listed.keys.map(({ webhook_secrets }: { webhook_secrets: number }) => webhook_secrets),
    [0, 1],
  );
  assert.match(tooEarly.stderr, /^--end-tokens: .*less than 30 days ago.*Wait 30 more days/);
  assert.match(stillNeeded.stderr, /^--keep: .*First run: gatehouse keys reencrypt/);
  assert.deepEqual(reencrypted, { reencrypted: 1, lost: [] });
  assert.deepEqual(pruned.removed, rotated.verifies);
  assert.deepEqual(setup.readKeys(), [fresh]);
  assert.equal(stillWorks, 200);
  assert.deepEqual([oldToken.status, oldToken.body.reason], [401, 'token_unknown']);
  assert.deepEqual([oldRefresh.status, oldRefresh.body.reason], [400, 'token_unknown']);
  assert.equal(newToken.status, 200);
  for (const received of [first, second]) assert.ok(received?.headers['webhook-signature']);
});

test('keys reseal, the former name, does what keys reencrypt does', async () => {
  const { keys, cli, env } = await createKeyFile();

  assert.deepEqual(await keys('reseal'), await keys('reencrypt'));
  const help = await cli.run(['keys', 'reseal', '--help'], { env });
  assert.match(help.stdout, /gatehouse keys reencrypt/);
  assert.equal(help.stdout.includes('reseal'), false);
});

test('for several nodes, a key is first added as the last one, and becomes the first when all nodes have it', async () => {
  const { keys, readKeys, file } = await createKeyFile();

  const { added } = await keys('add');
  const [first, second] = readKeys();
  const { signs } = await keys('rotate', '--use', added);

  assert.equal(signs, added);
  assert.deepEqual(readKeys(), [second, first]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('keys in the variable are written to a new file, and to no other', async () => {
  const cli = await createCommandLineWithDatabase();
  const env = { SECRET_KEYS: 'a-key-that-stands-in-the-environment' };
  const file = join(cli.folder, 'fresh');

  const rejected = await cli.run(['keys', 'rotate'], { env });
  const { stdout } = await cli.run(['keys', 'rotate', '--to', file], { env });
  const again = await cli.run(['keys', 'rotate', '--to', file], { env });

  assert.match(rejected.stderr, /^--to: The keys are in SECRET_KEYS.*set SECRET_KEYS_FILE/);
  assert.match(again.stderr, /^--to: .* exists already\./);
  const [fresh = '', old] = readFileSync(file, 'utf8').trim().split('\n');
  assert.equal(old, env.SECRET_KEYS);
  assert.ok(fresh.length >= 43);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  for (const key of [fresh, env.SECRET_KEYS]) assert.equal(stdout.includes(key), false);
});

/** Makes every commit with an audit entry fail, after its statements have succeeded. */
async function failCommits(databaseUrl: string): Promise<void> {
  const storage = await openStorage(databaseUrl);
  const reference = 'references accepted (id) deferrable initially deferred';
  await sql`create table accepted (id text primary key)`.execute(storage.durable);
  await sql`create table failures (id text ${sql.raw(reference)})`.execute(storage.durable);
  await sql`create trigger failing after insert on audit_entries begin insert into failures values (new.id); end`.execute(
    storage.durable,
  );
  await storage.close();
}

test('a rotation that the database does not commit leaves the keys as they are, and no other file', async () => {
  const { cli, keys, readKeys, env } = await createKeyFile();
  await keys('rotate');
  const before = readKeys();
  await failCommits(cli.databaseUrl);
  const files = readdirSync(cli.folder);
  const copy = join(cli.folder, 'copy');

  const rotated = await cli.run(['keys', 'rotate'], { env });
  const copied = await cli.run(['keys', 'rotate', '--to', copy], { env });

  assert.match(rotated.stderr, /FOREIGN KEY/);
  assert.match(copied.stderr, /FOREIGN KEY/);
  assert.deepEqual(readKeys(), before);
  assert.deepEqual(readdirSync(cli.folder), files);
});

test('keys in the variable are removed only with --end-tokens, because it does not tell how old they are', async () => {
  const cli = await createCommandLineWithDatabase();
  const env = { SECRET_KEYS: 'a-key-that-signs-since-a-minute-ago!,the-key-that-signed-before-that-one' };
  const file = join(cli.folder, 'fresh');

  const rejected = await cli.run(['keys', 'prune', '--to', file], { env });
  const wasWritten = existsSync(file);
  const pruned = await cli.run(['keys', 'prune', '--end-tokens', '--to', file], { env });

  assert.match(rejected.stderr, /^--end-tokens: SECRET_KEYS does not tell.*30 days/);
  assert.equal(wasWritten, false);
  assert.equal(pruned.status, 0, pruned.stderr);
  assert.equal(readFileSync(file, 'utf8').trim(), 'a-key-that-signs-since-a-minute-ago!');
});

test('the key file of a development machine can be rotated, too, and no other file is left behind', async () => {
  const cli = await createCommandLineWithDatabase();
  const server = await cli.serve();
  await server.end('SIGTERM');
  const file = join(cli.folder, 'data', 'secret-key');
  const before = readFileSync(file, 'utf8').trim();

  await cli.json(['keys', 'rotate']);

  assert.equal(readFileSync(file, 'utf8').trim().split('\n')[1], before);
  assert.deepEqual(readdirSync(join(cli.folder, 'data')), ['secret-key']);
});

test('with --end-tokens a key is removed before its tokens expire, and the audit log records it', async () => {
  const { cli, keys, readKeys, env } = await createKeyFile();
  await keys('rotate');

  const { removed } = await keys('prune', '--end-tokens');
  const unknown = await cli.run(['keys', 'rotate', '--use', 'ffffffff'], { env });
  const { entries } = await cli.json(['audit', 'export']);

  assert.equal(removed.length, 1);
  assert.equal(readKeys().length, 1);
  assert.match(unknown.stderr, /^--use: There is no such key/);
  assert.deepEqual(
    entries.map(({ action }: { action: string }) => action),
    ['key.removed', 'key.rotated'],
  );
  assert.equal(JSON.stringify(entries).includes(readKeys()[0] ?? ''), false);
  assert.ok(existsSync(cli.folder));
});
