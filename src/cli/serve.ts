import { findUserByEmail } from '../accounts/users.ts';
import { readSettings, SettingRefused, type Settings } from '../config.ts';
import { SECOND } from '../lib/clock.ts';
import type { RunningServer } from '../server.ts';
import type { Command } from './command.ts';
import { DEMO_USERS } from './demo-data.ts';

/** How long clients that keep their connections have to notice that this node is going. */
const PATIENCE = 3 * SECOND;

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Serve both hosts until stopped; adds nothing to the database',
  options: {},
  async run(_, env) {
    const settings = readSettings(env);
    // Only those who serve wait for what it takes to load.
    const { startServer } = await import('../server.ts');
    const server = await startServer(settings);
    try {
      await refuseDemoData(server, settings);
      console.error(`Gatehouse serves ${settings.baseUrl} (API) and ${settings.consentUrl} (web).`);
      await untilStopped();
    } finally {
      await server.close(PATIENCE);
    }
    return undefined;
  },
};

/** The demo's passwords are printed for everyone to read. */
async function refuseDemoData({ storage }: RunningServer, { baseUrl }: Settings): Promise<void> {
  const isPublic = baseUrl.startsWith('https:');
  if (!isPublic || !(await findUserByEmail(storage.durable, DEMO_USERS.admin.email))) return;
  throw new SettingRefused(
    'DATABASE_URL names a database with the demo in it, and its passwords are public. Use another.',
  );
}

export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}
