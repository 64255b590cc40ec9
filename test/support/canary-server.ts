import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after } from 'node:test';

/** A server on all addresses of this machine that must receive no request. It counts its connections. */
export async function startCanaryServer() {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {});
    socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
  });
  server.listen(0);
  await once(server, 'listening');
  after(() => server.close());
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}
