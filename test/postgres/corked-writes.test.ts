import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { after, test } from 'node:test';
import pg from 'pg';
import { corkWrites, scheduleSend } from '../../src/storage/postgres/corked-writes.ts';
import { startPostgres } from '../support/postgres-server.ts';

const server = await startPostgres();
after(() => server.remove());

async function connect() {
  const client = new pg.Client({ connectionString: server.url, pipeline: true });
  await client.connect();
  const { stream } = (client as unknown as { connection: pg.Connection }).connection;
  return { client, writes: countWrites(stream) };
}

/** Node calls one of these for each system call. */
function countWrites(stream: Duplex): { count: number } {
  const writes = { count: 0 };
  for (const name of ['_write', '_writev'] as const) {
    const write = (stream[name] as (...args: unknown[]) => void).bind(stream);
    stream[name] = (...args: unknown[]) => {
      writes.count += 1;
      write(...args);
    };
  }
  return writes;
}

test('statements of one event loop iteration are sent together', async () => {
  const { client, writes } = await connect();
  const run = (text: string) => {
    corkWrites(client);
    return client.query(text, [1]);
  };

  const results = await Promise.all([run('select $1::int as a'), run('select $1::int + 1 as a')]);
  const [first, later] = [writes.count, await run('select $1::int + 2 as a')];

  assert.deepEqual(
    [...results, later].map(({ rows }) => rows),
    [[{ a: 1 }], [{ a: 2 }], [{ a: 3 }]],
  );
  assert.equal(first, 1);
  assert.equal(writes.count, 2);
  await client.end();
});

test('what is written at the end of an event loop iteration is sent before the next', async () => {
  const { client, writes } = await connect();
  let sent = 0;
  const running = new Promise<pg.QueryResult>((resolve) => {
    setImmediate(() => {
      corkWrites(client);
      resolve(client.query('select 1 as a'));
    });
  });

  scheduleSend();
  setImmediate(() => {
    sent = writes.count;
  });

  assert.deepEqual((await running).rows, [{ a: 1 }]);
  assert.equal(sent, 1);
  await client.end();
});

test('a connection that ends in the same iteration still sends its statements', async () => {
  const { client } = await connect();

  corkWrites(client);
  const result = client.query('select 1 as a');
  await client.end();

  assert.deepEqual((await result).rows, [{ a: 1 }]);
});
