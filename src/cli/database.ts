import { existsSync, realpathSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { confirmClock } from '../audit/clock-confirmation.ts';
import { OPERATOR } from '../audit/entries.ts';
import { readSecretKeys } from '../config/keys.ts';
import { readDatabaseUrl } from '../config/settings.ts';
import { completeRestore } from '../grants/restore.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { createKeyring, fsyncDirectory, idsOf } from '../lib/keyring.ts';
import { isSqliteUrl, sqliteFileOf } from '../storage/inspect.ts';
import { ensureMigrated } from '../storage/migrate.ts';
import { openStorage } from '../storage/open.ts';
import {
  copyDatabase,
  findFault,
  isInUse,
  makeSingleFile,
  type OnProgress,
  removeDatabase,
} from '../storage/sqlite/backup.ts';
import { StorageError } from '../storage/storage.ts';
import { type Command, withStorage } from './command.ts';

export const backupCommand: Command = {
  name: 'backup',
  summary: 'Copy the SQLite database to one file, as a consistent snapshot, while the server runs',
  options: {
    to: { value: 'FILE', help: 'The file to write', required: true, example: 'backup.db' },
    force: { help: 'Replace the file if it exists' },
  },
  examples: ['--force'],
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

function readDatabaseFile(env: NodeJS.ProcessEnv): string {
  const url = readDatabaseUrl(env);
  if (isSqliteUrl(url)) return sqliteFileOf(url);
  throw new StorageError(
    'DATABASE_URL is a PostgreSQL database, which has its own tools for this: pg_basebackup with WAL archiving, or pg_dump. See docs/guides/run-in-production.md',
  );
}

/** Prints every 10 %, on a terminal only. */
function createProgress(): OnProgress {
  let printed = 0;
  return (left, total) => {
    const tenths = Math.floor((10 * (total - left)) / total);
    if (tenths <= printed || !process.stderr.isTTY) return;
    printed = tenths;
    process.stderr.write(`${10 * tenths} % of ${total} pages\n`);
  };
}

const UNCHANGED =
  'Passwords, passkeys, roles, members, disabled users and apps, client secrets and webhook endpoints are as of the backup. Repeat the changes made since.';

export const restoreCommand: Command = {
  name: 'restore',
  summary:
    'Replace the SQLite database with a backup, or create it from one, and end every session, grant, consent, invitation and password link in it',
  options: {
    from: { value: 'FILE', help: 'The backup', required: true, example: 'backup.db' },
    'keep-tokens': {
      help: 'End nothing. Use only if nothing was revoked since the backup, as when moving to another machine',
    },
  },
  examples: ['--keep-tokens'],
  async run(options, env) {
    const [from, file] = [options.text('from'), readDatabaseFile(env)];
    assertUsableBackup(from, file);
    assertNotInUse(file);
    const keyIds = idsOf(createKeyring(readSecretKeys(env).keys));
    const draft = `${file}.restoring`;
    removeDatabase(draft);
    try {
      await copyDatabase(from, draft, createProgress());
      const ended = await prepareDraft(draft, { from, keepsTokens: options.flag('keep-tokens'), keyIds });
      const undo = existsSync(file) ? await backUpCurrent(file) : undefined;
      await copyDatabase(draft, file);
      return { restored: file, ...(undo && { undo }), ...ended, next: nextSteps(undo) };
    } finally {
      removeDatabase(draft);
    }
  },
};

function assertUsableBackup(from: string, file: string): void {
  if (!existsSync(from)) throw new FormError('from', 'There is no such file.');
  if (existsSync(file) && realpathSync(from) === realpathSync(file)) {
    throw new FormError('from', 'This is the database itself.');
  }
  const fault = findFault(from);
  if (fault) throw new FormError('from', `This backup cannot be used: ${fault}.`);
}

/** Changes that a running server commits during the restore would be lost. */
function assertNotInUse(file: string): void {
  if (!existsSync(file)) return;
  let inUse: boolean;
  try {
    inUse = isInUse(file);
  } catch {
    throw new StorageError(`${file} cannot be opened. Stop the server, move the file away, and try again.`);
  }
  if (inUse) throw new StorageError(`${file} is in use. Stop the server and every other command, and try again.`);
}

/** Works on a copy, so that the database is replaced as a whole or not at all. */
async function prepareDraft(draft: string, restore: Parameters<typeof completeRestore>[2]) {
  const storage = await openStorage(`sqlite:${draft}`);
  try {
    await ensureMigrated(storage).catch(rejectVersion);
    return await completeRestore(OPERATOR, storage.durable, restore, systemClock());
  } finally {
    await storage.close();
    makeSingleFile(draft);
  }
}

function rejectVersion(error: unknown): never {
  if (!(error instanceof StorageError)) throw error;
  throw new FormError('from', error.message.replace('The database that DATABASE_URL names', 'This backup'));
}

async function backUpCurrent(file: string): Promise<string> {
  const undo = `${file}.before-${new Date(systemClock()).toISOString().replace(/\D/g, '').slice(0, 17)}`;
  await copyDatabase(file, undo);
  makeSingleFile(undo);
  return undo;
}

function nextSteps(undo: string | undefined): string {
  const hint =
    undo && ` The audit log of the replaced database lists them: DATABASE_URL=sqlite:${undo} gatehouse audit export`;
  return `${UNCHANGED}${hint ?? ''}`;
}

export const clockConfirmCommand: Command = {
  name: 'clock confirm',
  summary: 'Confirm that the clock of this machine is correct after it jumped by more than a day',
  options: {},
  run: (_, env) =>
    withStorage(env, async ({ durable }) => ({ confirmed: await confirmClock(OPERATOR, durable, systemClock()) })),
};
