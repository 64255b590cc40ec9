import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createCommandLine } from '../support/command-line.ts';
import { freePort } from '../support/ports.ts';

const cli = createCommandLine();

for (const [args, path] of [
  [['health'], '/healthz'],
  [['health', '--ready'], '/readyz'],
] as const) {
  test(`gatehouse ${args.join(' ')} succeeds while a server responds at ${path}, and fails once it has stopped`, async () => {
    const server = await cli.serve();
    const env = { BASE_URL: server.api };

    const running = await cli.run([...args, '--json'], { env });
    await server.end('SIGTERM');
    const stopped = await cli.run([...args, '--json'], { env });

    assert.deepEqual([running.status, JSON.parse(running.stdout)], [0, { url: server.api + path, status: 'ok' }]);
    assert.equal(stopped.status, 1);
    assert.match(JSON.parse(stopped.stdout).reason, /ECONNREFUSED/);
  });
}

for (const [host, reached] of [
  ['0.0.0.0', '127.0.0.1'],
  ['[::]', '[::1]'],
  ['localhost', 'localhost'],
]) {
  test(`gatehouse health finds a server that listens on ${host}, and reads no other setting`, async () => {
    const port = await freePort();

    const { status, stdout } = await cli.run(['health', '--json'], {
      env: { BASE_URL: 'https://api.example.com', LISTEN: `${host}:${port}` },
    });

    assert.equal(status, 1);
    assert.equal(JSON.parse(stdout).url, `http://${reached}:${port}/healthz`);
  });
}

test('gatehouse health fails if the server responds with an error', async () => {
  const server = createServer((_, response) => response.writeHead(503).end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const LISTEN = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  const { status, stdout } = await cli.run(['health', '--ready'], { env: { LISTEN } });
  server.close();

  assert.equal(status, 1);
  assert.match(stdout, /^status: failed\nreason: HTTP 503$/m);
});
