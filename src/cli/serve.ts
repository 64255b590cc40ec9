import { flushCompileCache } from 'node:module';
import { availableParallelism } from 'node:os';
import { DEMO_USERS } from '../../demo/data/data.ts';
import { findUserByEmail } from '../accounts/users.ts';
import { InvalidSetting, readSettings, type Settings } from '../config.ts';
import { SECOND } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import type { Storage } from '../storage/storage.ts';
import type { Command } from './command.ts';

/** How long clients have to close their keep-alive connections when a node stops. */
export const DRAIN_TIMEOUT = 3 * SECOND;

const MOST_WORKERS = 64;

export const serveCommand: Command = {
  name: 'serve',
  summary: 'Serve both hosts until stopped; adds nothing to the database',
  options: {
    workers: {
      value: 'N',
      help: `How many processes serve together, from 1 to ${MOST_WORKERS}, or auto for one per core; 1 if left out`,
    },
  },
  async run(options, env) {
    const workers = readWorkers(options.text('workers'));
    const settings = { ...readSettings(env), workers };
    if (workers === 1) await serveAlone(settings);
    else await (await import('./workers.ts')).serveTogether(settings, env);
    return undefined;
  },
};

function readWorkers(text: string): number {
  if (text === '') return 1;
  if (text === 'auto') return Math.min(availableParallelism(), MOST_WORKERS);
  if (!/^[1-9]\d?$/.test(text) || Number(text) > MOST_WORKERS) {
    throw new FormError('workers', `This must be a whole number from 1 to ${MOST_WORKERS}, or auto.`);
  }
  return Number(text);
}

async function serveAlone(settings: Settings): Promise<void> {
  // Before the first listener is open: a signal that comes right after it must not end the process by default.
  const stopped = untilStopped();
  // Only those who serve wait for what it takes to load.
  const { startServer } = await import('../server.ts');
  const server = await startServer(settings);
  try {
    await refuseDemoData(server.storage, settings);
    console.error(`Gatehouse serves ${settings.baseUrl} (API) and ${settings.consentUrl} (web).`);
    // Now, and not at its end: a node may be killed.
    flushCompileCache();
    await stopped;
  } finally {
    await server.close(DRAIN_TIMEOUT);
    exitSoon();
  }
}

/** A pending write to a log that nobody reads would keep the process alive. If nothing is pending, it ends before this. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), SECOND).unref();
}

/** The demo's passwords are printed for everyone to read. */
export async function refuseDemoData(storage: Storage, { baseUrl }: Settings): Promise<void> {
  const isPublic = baseUrl.startsWith('https:');
  if (!isPublic || !(await findUserByEmail(storage.durable, DEMO_USERS.admin.email))) return;
  throw new InvalidSetting(
    'DATABASE_URL names a database with the demo in it, and its passwords are public. Use another.',
  );
}

export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}
