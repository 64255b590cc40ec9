import { existsSync, realpathSync } from 'node:fs';
import { OPERATOR } from '../audit/entries.ts';
import { completeRestore } from '../grants/restore.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { ensureMigrated } from '../storage/migrate.ts';
import { openStorage } from '../storage/open.ts';
import { copyDatabase, findFault, isInUse, makeSingleFile, removeDatabase } from '../storage/sqlite/backup.ts';
import { StorageError } from '../storage/storage.ts';
import { newProgress, readDatabaseFile } from './backup.ts';
import type { Command } from './command.ts';

const STILL_AS_THEN =
  'Passwords, passkeys, roles, members, disabled users and apps, client secrets and webhook endpoints are as they were then. Do again what was done since.';

export const restoreCommand: Command = {
  name: 'restore',
  summary:
    'Put a backup in the place of the SQLite database, and end every session, grant, consent, invitation and password link in it',
  options: {
    from: { value: 'FILE', help: 'The backup', required: true },
    'keep-tokens': { help: 'End nothing: only where nothing was revoked since the backup, as in a move' },
  },
  async run(options, env) {
    const [from, file] = [options.text('from'), readDatabaseFile(env)];
    refuseBackup(from, file);
    refusePresent(file);
    const draft = `${file}.restoring`;
    removeDatabase(draft);
    try {
      await copyDatabase(from, draft, newProgress());
      const ended = await prepareDraft(draft, { from, isKept: options.flag('keep-tokens') });
      const undo = existsSync(file) ? await keepPresent(file) : undefined;
      await copyDatabase(draft, file);
      return { restored: file, ...(undo && { undo }), ...ended, next: nextSteps(undo) };
    } finally {
      removeDatabase(draft);
    }
  },
};

function refuseBackup(from: string, file: string): void {
  if (!existsSync(from)) throw new FormError('from', 'There is no such file.');
  if (existsSync(file) && realpathSync(from) === realpathSync(file)) {
    throw new FormError('from', 'This is the database itself.');
  }
  const fault = findFault(from);
  if (fault) throw new FormError('from', `This is no backup that can be used: ${fault}.`);
}

/** What a server acknowledges while its database is replaced would be in neither. */
function refusePresent(file: string): void {
  if (!existsSync(file)) return;
  let held: boolean;
  try {
    held = isInUse(file);
  } catch {
    throw new StorageError(`${file} cannot be opened any more. Stop the server, move the file away, and try again.`);
  }
  if (held) throw new StorageError(`${file} is in use. Stop the server and every other command, and try again.`);
}

/** All that is to be done to it is done to a copy, so that it either takes the place of the database as a whole or not. */
async function prepareDraft(draft: string, { from, isKept }: { from: string; isKept: boolean }) {
  const storage = await openStorage(`sqlite:${draft}`);
  try {
    await ensureMigrated(storage).catch(refuseVersion);
    return await completeRestore(OPERATOR, storage.durable, { from, keepsTokens: isKept }, systemClock());
  } finally {
    await storage.close();
    makeSingleFile(draft);
  }
}

function refuseVersion(error: unknown): never {
  if (!(error instanceof StorageError)) throw error;
  throw new FormError('from', error.message.replace('The database that DATABASE_URL names', 'This backup'));
}

async function keepPresent(file: string): Promise<string> {
  const undo = `${file}.before-${new Date(systemClock()).toISOString().replace(/\D/g, '').slice(0, 17)}`;
  await copyDatabase(file, undo);
  makeSingleFile(undo);
  return undo;
}

function nextSteps(undo: string | undefined): string {
  const look = undo && ` The audit log of what it replaced tells: DATABASE_URL=sqlite:${undo} gatehouse audit export`;
  return `${STILL_AS_THEN}${look ?? ''}`;
}
