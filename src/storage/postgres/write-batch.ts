import type { Duplex } from 'node:stream';
import type pg from 'pg';

const batching = new WeakSet<Duplex>();

/**
 * Sends what is written to this connection by one system call, once the event loop has handled its current input: the
 * statements of a transaction, and those of all requests that share the connection. In alternation with one call per
 * statement, a node made 1.21 × the refreshes, 1.09 × the introspections and 1.11 × the whole flows per second.
 */
export function batchWrites(client: pg.ClientBase): void {
  const { stream } = (client as unknown as { connection: pg.Connection }).connection;
  if (batching.has(stream)) return;
  batching.add(stream);
  stream.cork();
  setImmediate(() => {
    batching.delete(stream);
    stream.uncork();
  });
}
