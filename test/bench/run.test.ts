import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { UnexpectedResponse } from '../../bench/contender.ts';
import { gatehouseRequests } from '../../bench/contenders/gatehouse-requests.ts';
import { createHttpClient, parseResponse } from '../../bench/http-client.ts';
import { runPeak } from '../../bench/load.ts';
import { refreshScenario } from '../../bench/scenarios/refresh.ts';
import { freePort } from '../support/ports.ts';

const RUN = fileURLToPath(new URL('../../bench/run.ts', import.meta.url));

function bench(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('every scenario of Gatehouse and of the bare server is measured, and every response is correct', () => {
  const { status, stdout, stderr } = bench(
    ...['--contenders', 'gatehouse-sqlite,bare', '--rounds', '1', '--seconds', '0.02', '--connections', '1'],
  );

  assert.equal(status, 0, stderr);
  const lines = stdout.split('\n').filter((line) => /^(Gatehouse, SQLite|Bare server)/.test(line));
  assert.ok(lines.length >= 4, stdout);
  for (const line of lines) assert.match(line, /\d/);
  assert.doesNotMatch(stdout, /–\s|NaN/);
});

test('an unsupported option ends the bench with a one-sentence error', () => {
  const { status, stderr } = bench('--only', 'refresh,tea');

  assert.equal(status, 1);
  assert.match(stderr, /unknown name tea\. Use exchange, refresh/);
});

/** A server that responds like Gatehouse, but with another scope. */
function startAltered(port: number) {
  const token = (prefix: string) => prefix + 'x'.repeat(96);
  const tokens = { access_token: token('gat_'), refresh_token: token('grt_'), token_type: 'bearer', expires_in: 3600 };
  const server = createServer((request, response) => {
    const location = `https://ledger.example/callback?code=c&state=${/state=([^&]*)/.exec(request.url ?? '')?.[1]}`;
    if (request.method === 'GET') response.writeHead(303, { location }).end();
    else response.end(JSON.stringify({ ...tokens, scope: 'write:invoices' }));
  });
  return new Promise<typeof server>((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)));
}

test('a wrong response ends the run and is shown without its secrets', async () => {
  const port = await freePort();
  const server = await startAltered(port);
  const user = { userId: 'u', businessId: 'b', session: 's', invoiceIds: [] };
  const seeded = { app: { id: 'a', secret: 'the-secret-of-the-app-that-nobody-should-see' }, users: [user] };
  const requests = gatehouseRequests(seeded, [`http://127.0.0.1:${port}`]);
  const contender = { pid: process.pid, stop: async () => {}, ...requests };
  const clients = [createHttpClient()];

  const failure = await runPeak(refreshScenario.prepare(contender, clients), clients, {
    seconds: 1,
    pid: process.pid,
  }).catch((error) => error);
  for (const client of clients) client.close();
  server.close();

  assert.ok(failure instanceof UnexpectedResponse);
  assert.match(failure.message, /pair of tokens[\s\S]*POST \/api\/v1\/oauth\/token[\s\S]*write:invoices/);
  assert.doesNotMatch(failure.message, /nobody-should-see|x{20}/);
});

test('a response is read completely, in whatever chunks it arrives', () => {
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n';
  const sized = 'HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nabcde';

  assert.equal(parseResponse(chunked)?.body, 'abcde');
  assert.equal(parseResponse(sized)?.body, 'abcde');
  assert.equal(parseResponse(sized)?.status, 201);
  for (const text of [chunked, sized]) {
    for (let length = 0; length < text.length; length += 1)
      assert.equal(parseResponse(text.slice(0, length)), undefined);
  }
  assert.equal(parseResponse('HTTP/1.1 204 No Content\r\n\r\n')?.body, '');
});
