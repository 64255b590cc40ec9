import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import pg from 'pg';
import { getTypeParser, keepDescriptions, runDescribed } from '../../src/storage/postgres/named-statement.ts';
import { startPostgres } from '../support/postgres-server.ts';

const server = await startPostgres();
const client = new pg.Client({ connectionString: server.url, pipeline: true, types: { getTypeParser } });
await client.connect();
keepDescriptions(client);
after(async () => {
  await client.end();
  await server.remove();
});

const UNSENDABLE = {
  toPostgres() {
    throw new Error('no text for this value');
  },
};

function countDescriptions(of: pg.Client): { count: number } {
  const descriptions = { count: 0 };
  (of as unknown as { connection: pg.Connection }).connection.on('rowDescription', () => {
    descriptions.count += 1;
  });
  return descriptions;
}

const run = (name: string, text: string, values: unknown[] = []) => runDescribed(client, { name, text, values });

test('a statement is described once per connection, and returns the same rows afterwards', async () => {
  const text = `select $1::int as "number", $2::bigint as "time", $3::text as "text", $4::bytea as "bytes", $5::boolean as "flag"`;
  const values = [7, Date.UTC(2026, 0, 1), 'naïve', Buffer.from([0, 255]), true];
  const descriptions = countDescriptions(client);

  const first = await run('values', text, values);
  const [second, third] = await Promise.all([run('values', text, values), run('values', text, Array(5).fill(null))]);

  assert.equal(descriptions.count, 1);
  assert.deepEqual(second.rows, first.rows);
  assert.equal(second.rowCount, 1);
  assert.deepEqual(third.rows, [{ number: null, time: null, text: null, bytes: null, flag: null }]);
});

test('a statement is described with each execution where the next may run in another session', async () => {
  const pooled = new pg.Client({ connectionString: server.url, pipeline: true });
  await pooled.connect();
  const descriptions = countDescriptions(pooled);

  for (const value of ['first', 'second']) {
    const query = { name: 'pooled', text: 'select $1::text as value', values: [value] };
    assert.deepEqual((await runDescribed(pooled, query)).rows, [{ value }]);
  }

  assert.equal(descriptions.count, 2);
  await pooled.end();
});

test('executions that are sent before the first description arrives return their own rows', async () => {
  const text = 'select value from generate_series(1, $1::int) as value';

  const results = await Promise.all([1, 2, 3].map((count) => run('pipelined', text, [count])));

  assert.deepEqual(
    results.map(({ rows }) => rows.map(({ value }) => value)),
    [[1], [1, 2], [1, 2, 3]],
  );
});

test('a statement without rows reports how many it changed', async () => {
  await client.query('create table changed (a integer)');
  const insert = () => run('insert', 'insert into changed select generate_series(1, $1::int)', [3]);

  const results = [await insert(), await insert()];

  assert.deepEqual(
    results.map(({ rows, rowCount, command }) => ({ rows, rowCount, command })),
    Array(2).fill({ rows: [], rowCount: 3, command: 'INSERT' }),
  );
});

test('a statement that fails is described by its next execution, and others on the connection continue', async () => {
  const divide = (by: number) => run('divide', 'select 6 / $1::int as result', [by]);

  const [failed, other] = await Promise.allSettled([divide(0), run('other', 'select 1 as one')]);

  assert.equal(failed.status, 'rejected');
  assert.ok(failed.reason instanceof pg.DatabaseError && failed.reason.code === '22012');
  assert.deepEqual(other.status === 'fulfilled' && other.value.rows, [{ one: 1 }]);
  assert.deepEqual((await divide(2)).rows, [{ result: 3 }]);
  assert.deepEqual((await divide(3)).rows, [{ result: 2 }]);
});

test('a statement whose columns have changed is rejected', async () => {
  await client.query('create table widened (a integer)');
  await client.query('insert into widened values (1)');
  const read = () => run('widened', 'select * from widened');
  assert.deepEqual([(await read()).rows, (await read()).rows], [[{ a: 1 }], [{ a: 1 }]]);

  await client.query('alter table widened add column b integer');

  await assert.rejects(read(), /cached plan must not change result type/);
});

test('a value that cannot be sent rejects its own statement, and others on the connection continue', async () => {
  const echo = (value: unknown) => run('echo', 'select $1::text as value', [value]);

  // Before the statement is described, and after.
  for (const sent of ['first', 'second']) {
    const [failed, other] = await Promise.allSettled([echo(UNSENDABLE), run('beside', 'select 1 as one')]);

    assert.match(String(failed.status === 'rejected' && failed.reason), /no text for this value/);
    assert.deepEqual(other.status === 'fulfilled' && other.value.rows, [{ one: 1 }]);
    assert.deepEqual((await echo(sent)).rows, [{ value: sent }]);
  }
});

test('a value that cannot be sent leaves no timeout behind, which would close the connection', async () => {
  const limited = new pg.Client({ connectionString: server.url, pipeline: true, query_timeout: 60_000 });
  await limited.connect();
  keepDescriptions(limited);
  const echo = (value: unknown) => runDescribed(limited, { name: 'echo', text: 'select $1::text', values: [value] });
  const countTimeouts = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  await echo('described');
  const before = countTimeouts();

  await assert.rejects(echo(UNSENDABLE), /no text for this value/);

  assert.equal(countTimeouts(), before);
  await limited.end();
});

test('a column that cannot be read rejects its own statement, and others on the connection continue', async () => {
  pg.types.setTypeParser(pg.types.builtins.CIDR, (text) => (text === '10.2.0.0/16' ? assert.fail('no net') : text));
  const text = `select ('10.' || n || '.0.0/16')::cidr as net from generate_series(1, $1::int) as n`;
  const read = (count: number) => run('nets', text, [count]);
  assert.deepEqual((await read(1)).rows, [{ net: '10.1.0.0/16' }]);

  const [failed, other] = await Promise.allSettled([read(3), run('beside', 'select 1 as one')]);

  assert.match(String(failed.status === 'rejected' && failed.reason), /no net/);
  assert.deepEqual(other.status === 'fulfilled' && other.value.rows, [{ one: 1 }]);
  assert.deepEqual((await read(1)).rows, [{ net: '10.1.0.0/16' }]);
});
