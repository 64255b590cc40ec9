import { existsSync, realpathSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { readDatabaseUrl } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { fsyncDirectory } from '../lib/keyring.ts';
import { fileOf, isSqlite } from '../storage/inspect.ts';
import { copyDatabase, findFault, makeSingleFile, type OnProgress, removeDatabase } from '../storage/sqlite/backup.ts';
import { StorageError } from '../storage/storage.ts';
import type { Command } from './command.ts';

export const backupCommand: Command = {
  name: 'backup',
  summary: 'Copy the SQLite database to one file, as a consistent snapshot, while the server runs',
  options: {
    to: { value: 'FILE', help: 'The file to write', required: true },
    force: { help: 'Replace the file if it exists' },
  },
  async run(options, env) {
    const began = systemClock();
    const [from, to] = [readDatabaseFile(env), options.text('to')];
    if (existsSync(to)) {
      if (realpathSync(to) === realpathSync(from)) throw new FormError('to', 'This is the database itself.');
      if (!options.flag('force')) throw new FormError('to', `${to} exists already. To replace it, use --force.`);
    }
    await writeBackup(from, to);
    return { file: to, bytes: statSync(to).size, took_ms: systemClock() - began };
  },
};

/** Renamed only when it is complete and checked, so that a partial file is never taken for a backup. */
async function writeBackup(from: string, to: string): Promise<void> {
  const draft = `${to}.partial`;
  removeDatabase(draft);
  try {
    await copyDatabase(from, draft, createProgress());
    makeSingleFile(draft);
    const fault = findFault(draft);
    if (fault) throw new StorageError(`The database cannot be backed up: ${fault}. See: gatehouse doctor`);
    renameSync(draft, to);
    fsyncDirectory(dirname(to));
  } finally {
    removeDatabase(draft);
  }
}

export function readDatabaseFile(env: NodeJS.ProcessEnv): string {
  const url = readDatabaseUrl(env);
  if (isSqlite(url)) return fileOf(url);
  throw new StorageError(
    'DATABASE_URL is a PostgreSQL database, which has its own tools for this: pg_basebackup with WAL archiving, or pg_dump. See docs/guides/run-in-production.md',
  );
}

/** Prints every 10 %, on a terminal only. */
export function createProgress(): OnProgress {
  let printed = 0;
  return (left, total) => {
    const tenths = Math.floor((10 * (total - left)) / total);
    if (tenths <= printed || !process.stderr.isTTY) return;
    printed = tenths;
    process.stderr.write(`${10 * tenths} % of ${total} pages\n`);
  };
}
