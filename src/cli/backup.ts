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
  summary: 'Copy the SQLite database into one file, as it is at one moment, while the server runs',
  options: {
    to: { value: 'FILE', help: 'Where to', required: true },
    force: { help: 'Replace the file if there is one' },
  },
  async run(options, env) {
    const began = systemClock();
    const [from, to] = [readDatabaseFile(env), options.text('to')];
    if (existsSync(to)) {
      if (realpathSync(to) === realpathSync(from)) throw new FormError('to', 'This is the database itself.');
      if (!options.flag('force')) throw new FormError('to', `There is a file ${to} already. Replace it with --force.`);
    }
    await writeBackup(from, to);
    return { file: to, bytes: statSync(to).size, took_ms: systemClock() - began };
  },
};

/** Under its name once it is whole and sound, so that half a backup never passes for one. */
async function writeBackup(from: string, to: string): Promise<void> {
  const draft = `${to}.partial`;
  removeDatabase(draft);
  try {
    await copyDatabase(from, draft, newProgress());
    makeSingleFile(draft);
    const fault = findFault(draft);
    if (fault) throw new StorageError(`The database is not to be copied: ${fault}. See: gatehouse doctor`);
    renameSync(draft, to);
    fsyncDirectory(dirname(to));
  } finally {
    removeDatabase(draft);
  }
}

/** On PostgreSQL there are better ways, and they are its own. */
export function readDatabaseFile(env: NodeJS.ProcessEnv): string {
  const url = readDatabaseUrl(env);
  if (isSqlite(url)) return fileOf(url);
  throw new StorageError(
    'DATABASE_URL names a PostgreSQL, which has its own tools for this: pg_basebackup with WAL archiving, or pg_dump. See docs/guides/run-in-production.md',
  );
}

/** At every tenth of the way, for someone who watches. */
export function newProgress(): OnProgress {
  let told = 0;
  return (left, inAll) => {
    const tenths = Math.floor((10 * (inAll - left)) / inAll);
    if (tenths <= told || !process.stderr.isTTY) return;
    told = tenths;
    process.stderr.write(`${10 * tenths} % of ${inAll} pages\n`);
  };
}
