import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createCommandLine } from '../support/command-line.ts';
import { freePort } from '../support/ports.ts';
import { startWorkers, type Workers } from '../support/workers.ts';
import { readExposition } from '../telemetry/exposition.ts';

const cli = createCommandLine();
/** How long the primary process waits for its workers, unless it gets a second signal. */
const STOP_TIMEOUT = 30_000;

test('if no worker can start, the command prints the reason once and exits with 1', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const env = { BASE_URL: `http://127.0.0.1:${await freePort()}`, CONSENT_URL: url };

  const { status, stderr } = await cli.run(['serve', '--workers', '3'], { env });
  const unknown = await cli.run(['serve', '--workers', '3'], { env: { ...env, DATABASE_URL: 'sqlite:/' } });
  taken.close();

  assert.equal(status, 1);
  assert.match(stderr, /^Cannot listen on .*EADDRINUSE.* Set CONSENT_URL or CONSENT_LISTEN .*\.\n$/);
  assert.equal(unknown.status, 1);
  assert.match(unknown.stderr, /^DATABASE_URL points at .*\n$/);
});

/** Sends the first half of a request. */
async function beginRequest({ api }: Workers): Promise<Socket> {
  const { hostname, port } = new URL(api);
  const socket = connect(Number(port), hostname);
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  socket.write('POST /api/v1/oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n');
  socket.write('Content-Length: 2\r\nExpect: 100-continue\r\n\r\n');
  // A worker that has not read this yet would close the connection when it stops.
  await once(socket, 'data');
  socket.write('{');
  return socket;
}

async function finishRequest(socket: Socket): Promise<string> {
  socket.write('}');
  const [response] = await once(socket, 'data');
  socket.destroy();
  return String(response);
}

async function waitForExit(workers: Workers): Promise<void> {
  while (!workers.hasExited()) await setTimeout(20);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

suite('workers start and stop', { concurrency: true, timeout: 600_000 }, () => {
  test('each worker has its own metrics port', async () => {
    const port = await freePort(2);
    const env = { METRICS_LISTEN: `127.0.0.1:${port}` };
    const workers = await startWorkers(2, createCommandLine().databaseUrl, env);

    const scraped = await Promise.all(
      [port, port + 1].map(async (each) => (await fetch(`http://127.0.0.1:${each}/metrics`)).text()),
    );
    workers.signal('SIGTERM');
    const code = await workers.end();

    const [first, second] = scraped.map((text) => readExposition(text).get('process_start_time_seconds')?.series);
    assert.equal(code, 0);
    assert.notDeepEqual(first, second);
  });

  test('--workers auto serves with one process for each core', async () => {
    const workers = await startWorkers('auto', createCommandLine().databaseUrl);

    const response = await fetch(`${workers.api}/readyz`, { headers: { connection: 'close' } });
    while (workers.pids.size < availableParallelism()) await setTimeout(20);
    workers.signal('SIGTERM');
    const code = await workers.end();

    assert.equal(response.status, 200);
    assert.equal(workers.pids.size, availableParallelism());
    assert.equal(code, 0);
  });

  test('Ctrl+C, which reaches every process, lets them finish their requests and exits with 0', async () => {
    const workers = await startWorkers(2, createCommandLine().databaseUrl);
    const begun = await beginRequest(workers);

    workers.signalAll('SIGINT');
    workers.signalAll('SIGINT');
    await setTimeout(200);
    const response = await finishRequest(begun);
    const code = await workers.end();

    assert.match(response, /^HTTP\/1\.1 400 /);
    assert.equal(code, 0);
    assert.equal(workers.stderrLines.length, 1, workers.stderrLines.join('\n'));
    assert.equal(workers.hasExited(), true);
  });

  test('when the process that started them is killed, workers finish their requests and exit, too', async () => {
    const workers = await startWorkers(2, createCommandLine().databaseUrl);
    const begun = await beginRequest(workers);

    workers.signal('SIGKILL');
    await setTimeout(200);
    const response = await finishRequest(begun);
    await waitForExit(workers);

    assert.match(response, /^HTTP\/1\.1 400 /);
  });

  test('a second signal kills the workers, prints a line and exits with 1', async () => {
    const workers = await startWorkers(2, createCommandLine().databaseUrl);
    while (workers.pids.size < 2) await setTimeout(20);
    const [stuck = 0, other = 0] = workers.pids;
    process.kill(stuck, 'SIGSTOP');
    const began = performance.now();

    workers.signal('SIGTERM');
    while (isRunning(other)) await setTimeout(20);
    const exitedBefore = workers.hasExited();
    // Signals of the first second do not count, and one that comes while the process exits would kill it.
    while (isRunning(stuck)) {
      workers.signal('SIGTERM');
      await setTimeout(100);
    }
    const code = await workers.end();

    assert.equal(exitedBefore, false);
    assert.equal(code, 1);
    assert.ok(performance.now() - began < STOP_TIMEOUT, 'it did not wait until a worker is killed without a signal');
    assert.match(workers.stderrLines.at(-1) ?? '', /^1 worker did not stop in time and was killed\.$/);
    assert.equal(workers.hasExited(), true);
  });
});
