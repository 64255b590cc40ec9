import { isIP } from 'node:net';
import { readListen } from '../config/settings.ts';
import { LIVENESS, READINESS } from '../http/health-paths.ts';
import { SECOND } from '../lib/clock.ts';
import type { Address } from '../lib/ip-addresses.ts';
import type { Command } from './command.ts';
import { errorMessage } from './doctor/finding.ts';

const TIMEOUT = 5 * SECOND;

interface Health {
  url: string;
  status: 'ok' | 'failed';
  reason?: string;
}

export const healthCommand: Command = {
  name: 'health',
  summary: 'Check that the server on this machine responds, for the health check of a container',
  options: { ready: { help: 'Also check that it can query its database, and is not about to stop' } },
  examples: ['--ready'],
  async run(options, env): Promise<Health> {
    return checkHealth(urlOf(readListen(env)) + (options.flag('ready') ? READINESS : LIVENESS));
  },
  isFailure: (result) => (result as Health).status === 'failed',
};

async function checkHealth(url: string): Promise<Health> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT) });
    await response.body?.cancel();
    return response.status === 200
      ? { url, status: 'ok' }
      : { url, status: 'failed', reason: `HTTP ${response.status}` };
  } catch (error) {
    return { url, status: 'failed', reason: errorMessage((error as Error).cause ?? error) };
  }
}

/** A server that listens on every address of the machine listens on loopback, too. */
function urlOf({ host, port }: Address): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${port}`;
}
