import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createCommandLine } from '../support/command-line.ts';
import { databaseUrl, runAsAdmin } from '../support/databases.ts';
import { commandsOnDatabase } from '../support/every-command.ts';
import { listMigrations } from '../support/migrations.ts';
import { freePort } from '../support/ports.ts';
import { startPostgres } from '../support/postgres-server.ts';

const cli = createCommandLine();
const postgres = await startPostgres();
after(() => postgres.remove());
await runAsAdmin(postgres.url, ['create database empty', 'create database foreign_one', 'create database newer']);
await runAsAdmin(databaseUrl(postgres.url, 'foreign_one'), ['create table users (id int)']);
const empty = databaseUrl(postgres.url, 'empty');
const newer = databaseUrl(postgres.url, 'newer');
const env = { BASE_URL: `http://127.0.0.1:${await freePort()}`, CONSENT_URL: `http://127.0.0.1:${await freePort()}` };

const WRONG: [what: string, url: string, sentence: RegExp][] = [
  ['of an unknown kind', 'mysql://localhost/x', /DATABASE_URL must start with sqlite: or postgres:/],
  ['without a database', 'postgres://localhost:5432', /DATABASE_URL must look like postgres:/],
  [
    'with a wrong password',
    postgres.url.replace(':gatehouse@', ':wrong@'),
    /password authentication failed.*DATABASE_URL/,
  ],
  ['of a database that does not exist', databaseUrl(postgres.url, 'nowhere'), /"nowhere" does not exist.*DATABASE_URL/],
  ['without a listener', `postgres://a:b@127.0.0.1:${await freePort()}/x`, /ECONNREFUSED.*DATABASE_URL/],
  ['with a pool_size of nothing', `${empty}?pool_size=0`, /DATABASE_URL.*pool_size/],
  ['with a connect_timeout of an hour', `${empty}?connect_timeout=3600`, /DATABASE_URL.*connect_timeout.*1 to 60/],
  ['of a database that is not up to date', empty, /not up to date.*gatehouse migrate/],
  ['of another program’s database', databaseUrl(postgres.url, 'foreign_one'), /not Gatehouse's.*users/],
];

for (const [what, DATABASE_URL, sentence] of WRONG) {
  test(`serve rejects a DATABASE_URL ${what} with one sentence, and exit 1`, async () => {
    const { status, stderr } = await cli.run(['serve'], { env: { ...env, DATABASE_URL } });

    assert.equal(status, 1);
    assert.match(stderr, sentence);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  });
}

test('every command that does not create a database rejects one without tables, and creates none', async () => {
  const folder = { DATABASE_URL: empty, SECRET_KEYS: 'a-key-that-only-this-test-of-commands-uses' };

  for (const args of (await commandsOnDatabase()).filter(([name]) => name !== 'backup')) {
    const { status, stderr } = await cli.run(args, { env: folder });
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^The database that DATABASE_URL names has no tables\. .* gatehouse migrate\n$/,
      args.join(' '),
    );
  }
  await assert.rejects(runAsAdmin(empty, ['select * from grants']), /does not exist/);
});

test('migrate rejects another program’s database and changes nothing in it', async () => {
  const DATABASE_URL = databaseUrl(postgres.url, 'foreign_one');

  const { status, stderr } = await cli.run(['migrate'], { env: { DATABASE_URL } });

  assert.equal(status, 1);
  assert.match(stderr, /not Gatehouse's/);
  await assert.rejects(runAsAdmin(DATABASE_URL, ['select * from grants']), /does not exist/);
});

test('a database of a newer Gatehouse is rejected', async () => {
  await cli.json(['migrate'], { env: { DATABASE_URL: newer } });
  await runAsAdmin(newer, [`insert into migrations values ('999-from-the-future', 'now')`]);

  for (const command of ['serve', 'migrate']) {
    const { status, stderr } = await cli.run([command], { env: { ...env, DATABASE_URL: newer } });
    assert.equal(status, 1);
    assert.match(stderr, /newer Gatehouse \(999-from-the-future\)/);
  }
});

test('two nodes may migrate the same empty database at once: one does it, and both succeed', async () => {
  await runAsAdmin(postgres.url, ['create database twice']);
  const options = { env: { DATABASE_URL: databaseUrl(postgres.url, 'twice') } };

  const [one, two] = await Promise.all([cli.json(['migrate'], options), cli.json(['migrate'], options)]);

  assert.deepEqual([...one.applied, ...two.applied], listMigrations());
});

test('after migrate the command line and serve work on PostgreSQL as on SQLite', async () => {
  const options = { env: { DATABASE_URL: databaseUrl(postgres.url, 'twice') } };

  const business = await cli.json(['business', 'add', '--name', 'Acme'], options);
  const { businesses } = await cli.json(['business', 'list'], options);

  assert.deepEqual(
    businesses.map(({ id }: { id: string }) => id),
    [business.id],
  );
});
