import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { createHttpClient, get } from '../../bench/http-client.ts';

/** Closes each connection when its second request arrives, as a server does whose idle timeout has just expired. */
const server = createServer((request, response) => {
  const { socket } = request;
  if (socket.listenerCount('used') > 0) return void socket.resetAndDestroy();
  socket.on('used', () => {});
  response.end(request.url);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());
const address = server.address();
const origin = `http://127.0.0.1:${typeof address === 'object' && address?.port}`;

test('a request whose idle connection was closed is sent again on a new one', async () => {
  const client = createHttpClient();

  const bodies = [await client.ask(get(origin, '/first')), await client.ask(get(origin, '/second'))];

  assert.deepEqual(
    bodies.map(({ body }) => body),
    ['/first', '/second'],
  );
  client.close();
});

test('a server that closes a new connection without a response fails the request', async () => {
  const closing = createServer(({ socket }) => socket.destroy());
  await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve));
  const bound = closing.address();
  const client = createHttpClient();

  const response = client.ask(get(`http://127.0.0.1:${typeof bound === 'object' && bound?.port}`, '/'));

  await assert.rejects(response, /closed the connection/);
  closing.close();
});
