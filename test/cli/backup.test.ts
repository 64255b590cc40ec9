import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { insertBusiness } from '../../src/accounts/businesses.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { createBrowser } from '../support/browser.ts';
import { createClient } from '../support/client.ts';
import { createCommandLineWithDatabase } from '../support/command-line.ts';
import { createFixtures } from '../support/fixtures.ts';

const KEYS = { SECRET_KEYS: 'the-key-that-these-servers-sign-with' };

async function openHere(url: string): Promise<Storage> {
  const storage = await openStorage(url);
  after(() => storage.close());
  return storage;
}

/** Each transaction inserts two rows, so a consistent copy has an even number. */
function keepWriting(storage: Storage) {
  const written = { pairs: 0, isRunning: true };
  const work = (async () => {
    while (written.isRunning) {
      await storage.transaction(async (db) => {
        await insertBusiness(db, { name: `left ${'x'.repeat(70)}` }, Date.now());
        await insertBusiness(db, { name: `right ${'x'.repeat(70)}` }, Date.now());
      });
      written.pairs += 1;
      if (written.pairs % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  })().finally(() => {
    written.isRunning = false;
  });
  return { written, work };
}

test('a backup under load is a complete snapshot and delays no request', async () => {
  const cli = await createCommandLineWithDatabase();
  const storage = await openHere(cli.databaseUrl);
  const { written, work } = keepWriting(storage);
  while (written.pairs < 500 && written.isRunning) await new Promise((resolve) => setImmediate(resolve));
  const file = join(cli.folder, 'copy.db');

  const before = written.pairs;
  const made = await cli.json(['backup', '--to', file], { asProcess: true });
  const since = written.pairs;
  written.isRunning = false;
  await work;

  const copy = new DatabaseSync(file, { readOnly: true });
  const { rows } = copy.prepare('select count(*) as rows from businesses').get() as { rows: number };
  const { integrity_check } = copy.prepare('pragma integrity_check').get() as { integrity_check: string };
  copy.close();
  assert.equal(integrity_check, 'ok');
  assert.equal(rows % 2, 0);
  assert.ok(rows / 2 >= before && rows / 2 <= since + 1, `${before} <= ${rows / 2} <= ${since}`);
  assert.ok(since > before, 'writes continued meanwhile');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(made.bytes, statSync(file).size);
  assert.deepEqual(
    readdirSync(cli.folder).filter((name) => name.startsWith('copy')),
    ['copy.db'],
  );
});

test('a backup overwrites nothing without the option for it, and is rejected for a missing database, for PostgreSQL and onto itself', async () => {
  const cli = await createCommandLineWithDatabase();
  await cli.json(['business', 'add', '--name', 'Acme']);
  const file = join(cli.folder, 'copy.db');
  await cli.json(['backup', '--to', file]);

  const taken = await cli.run(['backup', '--to', file]);
  await cli.json(['backup', '--to', file, '--force']);
  const itself = await cli.run(['backup', '--to', join(cli.folder, 'gatehouse.db'), '--force']);
  const nowhere = await cli.run(['backup', '--to', join(cli.folder, 'no', 'such', 'folder.db')]);
  const missing = await cli.run(['backup', '--to', file], { env: { DATABASE_URL: 'sqlite:nothing.db' } });
  const postgres = { DATABASE_URL: 'postgres://x:secret@127.0.0.1/x' };
  const elsewhere = await cli.run(['backup', '--to', 'x.db'], { env: postgres });
  const back = await cli.run(['restore', '--from', file], { env: postgres });

  assert.match(taken.stderr, /^--to: .* exists already\. .*--force\.\n$/);
  assert.match(itself.stderr, /^--to: This is the database itself\.\n$/);
  assert.match(nowhere.stderr, /cannot be copied to/);
  assert.match(missing.stderr, /does not exist/);
  for (const { stderr, status } of [elsewhere, back]) {
    assert.match(stderr, /^DATABASE_URL is a PostgreSQL.*pg_basebackup.*\n$/);
    assert.equal(stderr.includes('secret'), false);
    assert.equal(status, 1);
  }
  for (const { stderr } of [taken, itself, nowhere, missing])
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
});

test('a file that is damaged, foreign, empty, newer or missing is rejected, and the database stays', async () => {
  const cli = await createCommandLineWithDatabase();
  await cli.json(['business', 'add', '--name', 'Acme']);
  const at = (name: string) => join(cli.folder, name);
  await cli.json(['backup', '--to', at('good.db')]);
  const bytes = readFileSync(at('good.db'));
  writeFileSync(at('cut.db'), bytes.subarray(0, bytes.length / 2));
  writeFileSync(at('torn.db'), Buffer.from(bytes).fill(0x5a, 16_384, 20_480));
  writeFileSync(at('text.db'), 'This is no database.');
  writeFileSync(at('empty.db'), '');
  const foreign = new DatabaseSync(at('foreign.db'));
  foreign.exec('create table users (id integer)');
  foreign.close();
  writeFileSync(at('newer.db'), bytes);
  const newer = new DatabaseSync(at('newer.db'));
  newer.exec("insert into migrations values ('999-future', '2040-01-01')");
  newer.close();

  for (const name of ['cut', 'torn', 'text', 'empty', 'foreign', 'newer', 'none']) {
    const { status, stderr } = await cli.run(['restore', '--from', at(`${name}.db`)], { env: KEYS });
    assert.equal(status, 1, name);
    assert.match(stderr, /^--from: .+\n$/, name);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  }

  const { businesses } = await cli.json(['business', 'list']);
  assert.equal(businesses.length, 1);
  assert.deepEqual(
    readdirSync(cli.folder).filter((name) => /restoring|before|partial/.test(name)),
    [],
  );
});

/** A server with one connected app, and a backup from before a revocation. */
async function createBackup() {
  const cli = await createCommandLineWithDatabase();
  const storage = await openStorage(cli.databaseUrl);
  const fixtures = await createFixtures(() => storage, Date.now);
  await storage.close();
  const server = await cli.serve(KEYS);
  const address = { ...KEYS, BASE_URL: server.api, CONSENT_URL: server.web };
  const clientAt = (start: string) => {
    const browse = () => createBrowser(server.web, [server.api, server.web]);
    return createClient({ api: start, browse, user: fixtures.ada, app: fixtures.ledger, business: fixtures.acme });
  };
  const client = clientAt(server.api);
  const backup = join(cli.folder, 'backup.db');
  const browser = await client.signedIn();
  const kept = await client.connect({}, browser);
  const revoked = await client.connect({}, browser);
  await cli.json(['backup', '--to', backup]);
  await client.revoke(revoked.refresh_token);
  return { cli, client, browser, backup, kept, revoked, server, serve: () => cli.serve(address) };
}

test('a restore is rejected while a server runs; after it, no grant that may have been revoked since the backup is active', async () => {
  const { cli, client, browser, backup, kept, revoked, server, serve } = await createBackup();

  const whileServing = await cli.run(['restore', '--from', backup]);
  const stillServes = (await client.listInvoices(kept.access_token)).status;
  await server.end('SIGKILL');
  const done = await cli.json(['restore', '--from', backup], { env: KEYS });
  const again = await serve();
  const responses = [
    await client.listInvoices(revoked.access_token),
    await client.refresh(revoked.refresh_token),
    await client.listInvoices(kept.access_token),
    await client.refresh(kept.refresh_token),
  ];
  const silently = await browser.open(client.authorizeUrl({ prompt: 'none' }));
  const { entries } = await cli.json(['audit', 'export']);
  const fresh = await client.connect();
  const works = (await client.listInvoices(fresh.access_token)).status;
  await again.end('SIGKILL');

  assert.match(whileServing.stderr, /is in use\. Stop the server/);
  assert.equal(stillServes, 200);
  assert.deepEqual(
    responses.map(({ status, body }) => [status, body.reason]),
    [401, 400, 401, 400].map((status) => [status, 'backup_restored']),
  );
  assert.equal(silently.leftTo?.searchParams.get('error'), 'login_required');
  assert.deepEqual([done.grants_ended, done.consents_forgotten, done.sessions_ended], [2, 1, 1]);
  assert.match(done.next, /as of the backup\. Repeat the changes made since\. .*audit export/);
  assert.equal(entries[0].action, 'database.restored');
  assert.equal(works, 200);
});

test('a restore can keep active grants, and the replaced database can be brought back', async () => {
  const { cli, client, backup, kept, revoked, server, serve } = await createBackup();
  await server.end('SIGKILL');

  const done = await cli.json(['restore', '--from', backup, '--keep-tokens'], { asProcess: true, env: KEYS });
  const then = await serve();
  const alive = [await client.listInvoices(kept.access_token), await client.listInvoices(revoked.access_token)];
  await then.end('SIGKILL');
  await cli.json(['restore', '--from', done.undo, '--keep-tokens'], { env: KEYS });
  const now = await serve();
  const undone = [await client.listInvoices(kept.access_token), await client.listInvoices(revoked.access_token)];
  await now.end('SIGKILL');

  assert.deepEqual(
    [...alive, ...undone].map(({ status }) => status),
    [200, 200, 200, 401],
  );
  assert.equal(statSync(done.undo).mode & 0o777, 0o600);
});

test('a restore creates a missing database, and leaves the backup unchanged', async () => {
  const cli = await createCommandLineWithDatabase();
  await cli.json(['business', 'add', '--name', 'Acme']);
  const backup = join(cli.folder, 'backup.db');
  await cli.json(['backup', '--to', backup]);
  const before = readFileSync(backup);
  const env = { ...KEYS, DATABASE_URL: `sqlite:${join(cli.folder, 'elsewhere.db')}` };

  await cli.json(['restore', '--from', backup], { env });

  const { businesses } = await cli.json(['business', 'list'], { env });
  const { stdout: help } = await cli.run(['help', 'restore']);
  const storage = await openHere(env.DATABASE_URL);
  const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(storage.durable);
  assert.equal(businesses[0].name, 'Acme');
  assert.match(help, /or\s+create\s+it\s+from\s+one/);
  assert.equal(rows[0]?.integrity_check, 'ok');
  assert.ok(before.equals(readFileSync(backup)));
  assert.deepEqual(
    readdirSync(cli.folder).filter((name) => /^backup/.test(name)),
    ['backup.db'],
  );
});
