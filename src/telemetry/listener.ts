import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { SECOND } from '../lib/clock.ts';
import { CONTENT_TYPE, type Metric, renderMetrics } from './registry.ts';

interface Place {
  host: string;
  port: number;
  /** How many ports, from this one on, may be tried: each worker of a node takes one. */
  ports: number;
}

/** A listener of its own, apart from both hosts: whoever may reach those must not read this by accident. */
export async function listenForScrapes(metrics: Metric[], { host, port, ports }: Place): Promise<() => Promise<void>> {
  const server = createServer({ requestTimeout: 10 * SECOND, headersTimeout: 5 * SECOND }, answer(metrics));
  server.unref();
  await listenOnFree(server, { host, port, ports });
  return async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
}

function answer(metrics: Metric[]): RequestListener {
  return ({ method, url }, response) => {
    response.setHeader('x-content-type-options', 'nosniff');
    response.setHeader('cache-control', 'no-store');
    if (url?.replace(/\?.*$/s, '') !== '/metrics') response.writeHead(404).end();
    else if (method !== 'GET' && method !== 'HEAD') response.writeHead(405, { allow: 'GET, HEAD' }).end();
    else response.writeHead(200, { 'content-type': CONTENT_TYPE }).end(renderMetrics(metrics));
  };
}

/** Whoever comes first has the port; a worker that takes the place of another finds the one that was left. */
async function listenOnFree(server: Server, { host, port, ports }: Place): Promise<void> {
  for (let tried = 0; ; tried++) {
    try {
      // Not shared among workers, as a listener of a cluster otherwise is.
      server.listen({ host, port: port + tried, exclusive: true });
      await once(server, 'listening');
      return;
    } catch (error) {
      const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!isTaken || tried + 1 >= ports) throw error;
    }
  }
}
