import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createKeyring, idsOf } from '../../src/lib/keyring.ts';
import { openStorage } from '../../src/storage/open.ts';
import { type CommandLine, createCommandLineWithDatabase, PASSWORD_FILE } from '../support/command-line.ts';
import { createFixtures } from '../support/fixtures.ts';

const KEY = 'the-key-of-the-servers-of-this-database';
const OTHER = 'the-key-of-another-shell-or-of-nobody';
const [ID = '', OTHER_ID = ''] = [KEY, OTHER].flatMap((key) => idsOf(createKeyring([key])));

/** A database on which a server has run with `KEY`, with an app. */
async function createServed() {
  const cli = await createCommandLineWithDatabase();
  const server = await cli.serve({ SECRET_KEYS: KEY });
  await server.end('SIGTERM');
  const storage = await openStorage(cli.databaseUrl);
  const { ledger } = await createFixtures(() => storage, Date.now);
  await storage.close();
  return { cli, app: ledger.id };
}

async function readKnown({ databaseUrl }: CommandLine): Promise<string[]> {
  const storage = await openStorage(databaseUrl);
  try {
    const rows = await storage.durable.selectFrom('signing_keys').select('id').orderBy('recorded_at').execute();
    return rows.map(({ id }) => id);
  } finally {
    await storage.close();
  }
}

const endpointAdd = (app: string) => ['endpoint', 'add', '--app', app, '--url', 'https://app.example.com/hooks'];

test('commands in a shell without SECRET_KEYS create no key, and say what to set', async () => {
  const { cli, app } = await createServed();
  const backup = join(cli.folder, 'backup.db');
  await cli.json(['backup', '--to', backup]);
  const commands = [
    endpointAdd(app),
    ['keys', 'list'],
    ['keys', 'add'],
    ['keys', 'rotate'],
    ['keys', 'reencrypt'],
    ['keys', 'prune'],
    ['restore', '--from', backup],
  ];

  for (const args of commands) {
    const { status, stderr } = await cli.run(args);
    assert.equal(status, 1);
    assert.match(stderr, /^SECRET_KEYS is not set.*SECRET_KEYS_FILE as for the server/, args.join(' '));
  }
  assert.equal(existsSync(join(cli.folder, 'data')), false);
});

test('commands in a shell with other SECRET_KEYS than the servers encrypt nothing and change no key', async () => {
  const { cli, app } = await createServed();
  const env = { SECRET_KEYS: OTHER };
  const file = join(cli.folder, 'fresh');
  const commands = [
    endpointAdd(app),
    ['keys', 'add', '--to', file],
    ['keys', 'rotate', '--to', file],
    ['keys', 'reencrypt'],
    ['keys', 'prune', '--to', file],
  ];

  for (const args of commands) {
    const { status, stderr } = await cli.run(args, { env });
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`id ${OTHER_ID}, which the database does not know`), args.join(' '));
  }
  const { findings } = JSON.parse((await cli.run(['doctor', '--json'], { env })).stdout);
  assert.ok(
    findings.some(
      ({ level, message }: Record<string, string>) => level === 'problem' && /does not know/.test(`${message}`),
    ),
  );
  assert.equal((await cli.json(['endpoint', 'list', '--app', app])).endpoints.length, 0);
  assert.equal(existsSync(file), false);
});

test('serve and demo create no key for a database that has data', async () => {
  const { cli } = await createServed();
  const unserved = await createCommandLineWithDatabase();
  await unserved.json(['user', 'add', '--email', 'ada@example.com', '--name', 'Ada', '--password-file', PASSWORD_FILE]);

  for (const { folder, run } of [cli, unserved]) {
    for (const command of ['serve', 'demo']) {
      const { status, stderr } = await run([command], { asProcess: true });
      assert.equal(status, 1);
      assert.match(stderr, /^SECRET_KEYS is not set, and the database of DATABASE_URL has data/);
      assert.deepEqual(
        readdirSync(folder).filter((name) => name === 'data'),
        [],
      );
    }
  }
});

test('keys rotate records the new key, and keys prune forgets the old one', async () => {
  const { cli } = await createServed();
  const file = join(cli.folder, 'keys');
  writeFileSync(file, KEY);
  const env = { SECRET_KEYS_FILE: file };

  const { signs } = await cli.json(['keys', 'rotate'], { env });
  const rotated = await readKnown(cli);
  await cli.json(['keys', 'prune', '--end-tokens'], { env });
  const restarted = await cli.serve(env);
  await restarted.end('SIGTERM');

  assert.deepEqual(rotated, [ID, signs]);
  assert.deepEqual(await readKnown(cli), [signs]);
});

test('keys rotate --use accepts a key that has replaced lost ones, and changes no setting if it is the first', async () => {
  const { cli } = await createServed();
  const env = { SECRET_KEYS: OTHER };

  const { signs } = await cli.json(['keys', 'rotate', '--use', OTHER_ID], { env });
  const server = await cli.serve(env);
  await server.end('SIGTERM');

  assert.equal(signs, OTHER_ID);
  assert.deepEqual(await readKnown(cli), [ID, OTHER_ID]);
});

test('restore records the keys of the server, which may be newer than the backup', async () => {
  const { cli } = await createServed();
  const backup = join(cli.folder, 'backup.db');
  await cli.json(['backup', '--to', backup]);
  const file = join(cli.folder, 'keys');
  writeFileSync(file, KEY);
  const env = { SECRET_KEYS_FILE: file };
  const { signs } = await cli.json(['keys', 'rotate'], { env });

  await cli.json(['restore', '--from', backup], { env });
  const server = await cli.serve(env);
  await server.end('SIGTERM');

  assert.deepEqual((await readKnown(cli)).sort(), [ID, signs].sort());
  assert.ok(readFileSync(file, 'utf8').includes(KEY));
});
