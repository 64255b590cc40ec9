import { readSettings } from '../config.ts';
import { SECOND } from '../lib/clock.ts';
import { startServer } from '../server.ts';
import type { Command } from './command.ts';

/** How long clients that keep their connections have to notice that this node is going. */
const PATIENCE = 3 * SECOND;

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Serve both hosts until stopped; adds nothing to the database',
  options: {},
  async run(_, env) {
    const settings = readSettings(env);
    const server = await startServer(settings);
    console.error(`Gatehouse serves ${settings.baseUrl} (API) and ${settings.consentUrl} (web).`);
    await untilStopped();
    await server.close(PATIENCE);
    return undefined;
  },
};

export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}
