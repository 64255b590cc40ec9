import { Server } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { SECOND } from '../lib/clock.ts';
import { InvalidSetting } from '../lib/errors.ts';
import type { Address } from '../lib/ip-addresses.ts';

const CLOSE_TIMEOUT = 5 * SECOND;

export async function listen(host: FastifyInstance, address: Address, setting: string): Promise<void> {
  try {
    // Fastify stores the host in the object that it gets, and settings outlive a host.
    await host.listen({ ...address });
  } catch (error) {
    throw cannotListen(address, error, setting);
  }
}

export function cannotListen({ host, port }: Address, error: unknown, setting: string): InvalidSetting {
  const code = error instanceof Error && 'code' in error ? error.code : error;
  const reason = code === 'EADDRINUSE' ? `: in use by another program (${code})` : ` (${code})`;
  return new InvalidSetting(`Cannot listen on ${host}:${port}${reason}. Set ${setting} to another address.`);
}

/**
 * Accepts no new connections, responds to requests on open ones and asks their clients to close them. Resolves when all
 * are closed, or after the timeout.
 */
export async function drain(hosts: FastifyInstance[], timeout: number): Promise<void> {
  const closed = hosts.map((host) => {
    host.draining = true;
    // Not `server.close()` of node:http: it also closes idle connections, on which a request may be arriving.
    return new Promise((resolve) => Server.prototype.close.call(host.server, resolve));
  });
  await Promise.race([Promise.all(closed), setTimeout(timeout, undefined, { ref: false })]);
}

/** Finishes requests that have begun; those that are incomplete after the timeout are cut off. */
export async function close(hosts: FastifyInstance[]): Promise<void> {
  const closed = Promise.all(hosts.map((host) => host.close()));
  await Promise.race([closed, setTimeout(CLOSE_TIMEOUT, undefined, { ref: false })]);
  for (const host of hosts) host.server.closeAllConnections();
  await closed;
}
