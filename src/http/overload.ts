import type { Server } from 'node:http';
import { systemClock } from '../lib/clock.ts';
import { Overloaded } from '../lib/errors.ts';
import { newTurns } from '../lib/turns.ts';
import type { Patience } from './timeouts.ts';

/** Those who watch over a node have to hear from it most of all when it has too much to do. */
const ALWAYS = /^\/(?:healthz|readyz)(?:\?|$)/;

/** How Node and Fastify call it. */
export function serverOptions({ headers, request, silence, idle, lookEvery }: Patience) {
  return {
    requestTimeout: request,
    connectionTimeout: silence,
    keepAliveTimeout: idle,
    http: { headersTimeout: headers, connectionsCheckingInterval: lookEvery },
  };
}

export function boundConnections(server: Server, { connections }: Patience): void {
  server.maxConnections = connections;
  server.on('connection', (socket) => {
    // Asked once, Node remembers it: so whoever hangs up before the answer still has an address.
    if (socket.remoteAddress === undefined) socket.destroy();
  });
}

/** Turns away at once, and cheaply, what would have to wait for long. */
export function newDoor({ crowd, turn }: Patience, clock = systemClock): (url: string) => Overloaded | undefined {
  const takeTurn = newTurns(clock);
  return (url) => {
    const { count, waited } = takeTurn();
    return count >= crowd && waited > turn && !ALWAYS.test(url) ? new Overloaded() : undefined;
  };
}
