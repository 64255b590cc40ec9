import { flushCompileCache } from 'node:module';
import { availableParallelism } from 'node:os';
import { DEMO_USERS } from '../../demo/data.ts';
import { findUserByEmail } from '../accounts/users.ts';
import type { Settings } from '../config/settings.ts';
import { SECOND } from '../lib/clock.ts';
import { FormError, InvalidSetting } from '../lib/errors.ts';
import type { Storage } from '../storage/storage.ts';
import type { Command } from './command.ts';
import { readServerSettings } from './first-key.ts';

/** How long clients have to close their keep-alive connections when a node stops. */
export const DRAIN_TIMEOUT = 3 * SECOND;

const MAX_WORKERS = 64;

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Serve both hosts until stopped, without sample data',
  hasNoResult: true,
  options: {
    workers: {
      value: 'N',
      help: `The number of worker processes, from 1 to ${MAX_WORKERS}, or auto for one per core (default: 1)`,
    },
  },
  examples: [
    '--workers auto',
    'BASE_URL=https://api.example.com CONSENT_URL=https://accounts.example.com gatehouse serve',
  ],
  async run(options, env) {
    const workers = readWorkers(options.text('workers'));
    const settings = { ...(await readServerSettings(env)), workers };
    if (workers === 1) await serveInProcess(settings);
    else await (await import('./workers.ts')).serveWithWorkers(settings, env);
    return undefined;
  },
};

function readWorkers(text: string): number {
  if (text === '') return 1;
  if (text === 'auto') return Math.min(availableParallelism(), MAX_WORKERS);
  if (!/^[1-9]\d?$/.test(text) || Number(text) > MAX_WORKERS) {
    throw new FormError('workers', `Use a whole number from 1 to ${MAX_WORKERS}, or auto.`);
  }
  return Number(text);
}

async function serveInProcess(settings: Settings): Promise<void> {
  // Before the first listener opens: a signal right after it must not kill the process.
  const stopped = untilStopped();
  // Imported here: the server takes longest to load, and other commands do not need it.
  const { startServer } = await import('../server.ts');
  const server = await startServer(settings);
  let drainTimeout = 0;
  try {
    await rejectDemoData(server.storage, settings);
    console.error(`Gatehouse serves ${settings.baseUrl} (API) and ${settings.consentUrl} (web).`);
    // Not at exit: a node may be killed.
    flushCompileCache();
    await Promise.race([stopped, server.outdated]);
    drainTimeout = DRAIN_TIMEOUT;
  } finally {
    await server.close(drainTimeout);
    exitSoon();
  }
}

/** A pending write to a blocked pipe would keep the process alive. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), SECOND).unref();
}

/** The passwords of the demo are public. */
export async function rejectDemoData(storage: Storage, { baseUrl }: Settings): Promise<void> {
  const isPublic = baseUrl.startsWith('https:');
  if (!isPublic || !(await findUserByEmail(storage.durable, DEMO_USERS.admin.email))) return;
  throw new InvalidSetting(
    'The database of DATABASE_URL contains the demo data, whose passwords are public. Use another database.',
  );
}

export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}
