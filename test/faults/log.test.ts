import assert from 'node:assert/strict';
import { openSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../support/ports.ts';
import { createSqliteServer } from './support/sqlite-server.ts';

const TIMEOUT = { timeout: 300_000 };
const REQUESTS = 1000;
const DROPPED = /^gatehouse_log_dropped_lines_total (\d+)$/m;

/** A server that logs every request, and the address of its metrics. */
async function startLogging(stdout: number | 'pipe') {
  const server = await createSqliteServer();
  const metrics = `127.0.0.1:${await freePort()}`;
  const serving = server.serve({ stdout, env: { LOG_LEVEL: 'debug', METRICS_LISTEN: metrics } });
  await serving.start();
  const health = async () => (await fetch(`${serving.api}/healthz`)).status;
  return {
    serving,
    health,
    async dropped(): Promise<number> {
      const text = await (await fetch(`http://${metrics}/metrics`)).text();
      assert.match(text, DROPPED);
      return Number(DROPPED.exec(text)?.[1]);
    },
    sendMany: () => pipelineRequests(serving.api),
  };
}

/** Pipelines requests on one connection, since the client would otherwise be slower than the server. */
async function pipelineRequests(api: string): Promise<void> {
  const { host, hostname, port } = new URL(api);
  const request = `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n`;
  const socket = connect(Number(port), hostname);
  socket.write(`${`${request}\r\n`.repeat(REQUESTS - 1)}${request}Connection: close\r\n\r\n`);
  const statuses = (await text(socket)).match(/HTTP\/1\.1 \d+/g);
  assert.deepEqual(statuses, Array(REQUESTS).fill('HTTP/1.1 200'));
}

type Logging = Awaited<ReturnType<typeof startLogging>>;

/** Sends more requests than the log buffer can hold. */
async function sendUntilDropped({ sendMany, dropped }: Logging): Promise<void> {
  while ((await dropped()) === 0) await sendMany();
}

test(
  'a server whose log is on a full disk responds, counts the lines it drops, and shuts down cleanly [X8]',
  TIMEOUT,
  async () => {
    const logging = await startLogging(openSync('/dev/full', 'w'));

    await sendUntilDropped(logging);

    assert.equal(await logging.health(), 200);
    assert.equal(await logging.serving.stop(), 0);
  },
);

test(
  'a server whose log is not read responds, later logs how many lines it dropped, and truncates none [X8]',
  TIMEOUT,
  async () => {
    const logging = await startLogging('pipe');
    const lines: string[] = [];

    await sendUntilDropped(logging);
    createInterface(logging.serving.stdout()).on('line', (line) => lines.push(line));
    while (!lines.some((line) => line.includes('were dropped'))) await setTimeout(20);
    await logging.sendMany();
    const [dropped, code] = [await logging.dropped(), await logging.serving.stop()];

    const messages = lines.map((line) => JSON.parse(line).msg as string | undefined);
    const reported = messages.flatMap((msg) => /^(\d+) log lines were dropped/.exec(msg ?? '')?.[1] ?? []);
    assert.equal(
      reported.map(Number).reduce((sum, count) => sum + count),
      dropped,
    );
    assert.equal(code, 0);
  },
);

test('a server whose log is no longer read shuts down cleanly [X8]', TIMEOUT, async () => {
  const logging = await startLogging('pipe');

  await sendUntilDropped(logging);

  assert.equal(await logging.serving.stop(), 0);
});

test('a server keeps running after the reader of its log exits [X8]', TIMEOUT, async () => {
  const logging = await startLogging('pipe');

  logging.serving.stdout().destroy();
  await sendUntilDropped(logging);

  assert.equal(await logging.health(), 200);
  assert.equal(await logging.serving.stop(), 0);
});
