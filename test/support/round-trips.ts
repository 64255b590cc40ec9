import { connect, createServer, type Socket } from 'node:net';
import { after } from 'node:test';

interface RoundTrips {
  /** How often a client sent a message while no response was pending. */
  trips: number;
  statements: number;
}

/** A proxy in front of PostgreSQL that counts the messages of `work`. Open the connections before. */
export async function startRoundTripCounter(target: number) {
  const counts: RoundTrips = { trips: 0, statements: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const postgres = connect(target, '127.0.0.1');
    let pending = 0;
    const onClientMessage = parseMessages('client', (type) => {
      if (type === 'Q' || type === 'E') counts.statements += 1;
      // Simple queries and Sync: the server responds to each with ReadyForQuery.
      if (type !== 'Q' && type !== 'S') return;
      if (pending === 0) counts.trips += 1;
      pending += 1;
    });
    const onServerMessage = parseMessages('server', (type) => {
      if (type === 'Z') pending = Math.max(0, pending - 1);
    });
    forward(client, postgres, onClientMessage);
    forward(postgres, client, onServerMessage);
    sockets.add(client).add(postgres);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    async count(work: () => Promise<unknown>): Promise<RoundTrips> {
      Object.assign(counts, { trips: 0, statements: 0 });
      await work();
      return { ...counts };
    },
  };
}

function forward(from: Socket, to: Socket, inspect: (bytes: Buffer) => void): void {
  from.on('error', () => {});
  from.on('close', () => to.destroy());
  from.on('data', (bytes: Buffer) => {
    inspect(bytes);
    to.write(bytes);
  });
}

/** Calls back with the type of each message. The first one of a client, the startup packet, has none. */
export function parseMessages(
  side: 'client' | 'server',
  onMessage: (type: string, body: Buffer) => void,
): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isStartup = side === 'client';
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const head = isStartup ? 0 : 1;
      if (rest.length < head + 4) return;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return;
      onMessage(isStartup ? 'startup' : String.fromCharCode(rest[0] ?? 0), rest.subarray(head + 4, length));
      rest = rest.subarray(length);
      isStartup = false;
    }
  };
}
