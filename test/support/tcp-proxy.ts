import { connect, createServer, type Socket } from 'node:net';
import { after } from 'node:test';

/** A TCP proxy between a node and its database that fails like a network. */
interface TcpProxy {
  port: number;
  /** Closes all connections, and rejects new ones. */
  cut(): void;
  /** Keeps connections open, but forwards nothing. */
  stall(): void;
  restore(): void;
  /** Forwards the data that was held back. */
  resume(): void;
}

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<[Socket, Socket]>();
  const buffered: (() => void)[] = [];
  let state: 'open' | 'cut' | 'stalled' = 'open';
  const server = createServer((near) => {
    near.on('error', () => {});
    if (state === 'cut') return near.destroy();
    const far = connect(target, '127.0.0.1').on('error', () => {});
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    for (const [from, to] of [pair, [far, near] as const]) {
      from.on('data', (bytes) => {
        if (state === 'stalled') buffered.push(() => to.write(bytes));
        else to.write(bytes);
      });
      from.on('close', () => {
        to.destroy();
        pairs.delete(pair);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const breakAll = () => {
    for (const socket of [...pairs].flat()) socket.destroy();
  };
  after(() => {
    breakAll();
    server.close();
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    cut() {
      state = 'cut';
      breakAll();
    },
    stall() {
      state = 'stalled';
    },
    restore() {
      if (state === 'stalled') breakAll();
      buffered.length = 0;
      state = 'open';
    },
    resume() {
      state = 'open';
      for (const send of buffered.splice(0)) send();
    },
  };
}
