import { existsSync, realpathSync } from 'node:fs';
import { OPERATOR } from '../audit/entries.ts';
import { completeRestore } from '../grants/restore.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { ensureMigrated } from '../storage/migrate.ts';
import { openStorage } from '../storage/open.ts';
import { copyDatabase, findFault, isInUse, makeSingleFile, removeDatabase } from '../storage/sqlite/backup.ts';
import { StorageError } from '../storage/storage.ts';
import { createProgress, readDatabaseFile } from './backup.ts';
import type { Command } from './command.ts';

const UNCHANGED =
  'Passwords, passkeys, roles, members, disabled users and apps, client secrets and webhook endpoints are as of the backup. Repeat the changes made since.';

export const restoreCommand: Command = {
  name: 'restore',
  summary:
    'Replace the SQLite database by a backup, and end every session, grant, consent, invitation and password link in it',
  options: {
    from: { value: 'FILE', help: 'The backup', required: true },
    'keep-tokens': {
      help: 'End nothing. Use only if nothing was revoked since the backup, as when moving to another machine',
    },
  },
  async run(options, env) {
    const [from, file] = [options.text('from'), readDatabaseFile(env)];
    assertUsableBackup(from, file);
    assertNotInUse(file);
    const draft = `${file}.restoring`;
    removeDatabase(draft);
    try {
      await copyDatabase(from, draft, createProgress());
      const ended = await prepareDraft(draft, { from, keepsTokens: options.flag('keep-tokens') });
      const undo = existsSync(file) ? await copyCurrent(file) : undefined;
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
async function prepareDraft(draft: string, restore: { from: string; keepsTokens: boolean }) {
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

async function copyCurrent(file: string): Promise<string> {
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
