import type { Updateable } from 'kysely';
import type { Actor } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Tables } from '../storage/tables.ts';
import { type App, type AppIdentity, type AppSettings, identityRow, settingsRow } from './app.ts';
import { changedSettings, recordAppAudit } from './app-audit.ts';
import { findApp, lockApp, updateApp } from './apps.ts';
import { readLogo, removeLogo, storeLogo } from './logos.ts';
import { endVerification } from './verification.ts';

interface ChangeOfApp {
  appId: string;
  /** Whether to throw, with the field `BADGE`, instead of removing the Verified publisher badge. */
  keepsBadge?: boolean;
}

export interface AppChange extends ChangeOfApp {
  change: (before: App) => AppSettings;
  privateSchemes?: readonly string[];
}

/** Undefined if there is no such app. */
export async function changeApp(
  actor: Actor,
  db: Database,
  { change, privateSchemes, ...changed }: AppChange,
  now: number,
): Promise<App | undefined> {
  const columns = (before: App) =>
    settingsRow(change(before), { isPublic: before.isPublic, privateSchemes, currentName: before.name });
  return applyChange(actor, db, { ...changed, columns }, now);
}

interface IdentityChange extends ChangeOfApp {
  change: (before: App) => AppIdentity;
}

/** Undefined if there is no such app. */
export async function changeIdentity(
  actor: Actor,
  db: Database,
  { change, ...changed }: IdentityChange,
  now: number,
): Promise<App | undefined> {
  return applyChange(actor, db, { ...changed, columns: (before) => identityRow(change(before)) }, now);
}

/** Stores what `readLogo` keeps of the file. Undefined if there is no such app. */
export async function changeLogo(
  actor: Actor,
  db: Database,
  { file, ...changed }: ChangeOfApp & { file: Uint8Array },
  now: number,
): Promise<App | undefined> {
  const { appId } = changed;
  // Before the transaction: compressing takes time.
  const app = await findApp(db, appId);
  if (!app) return undefined;
  const image = await readLogo(file, app);
  const columns = async (_: App, tx: Database) => ({ logo_hash: await storeLogo(tx, appId, image) });
  return applyChange(actor, db, { ...changed, columns }, now);
}

/** Undefined if there is no such app. */
export async function deleteLogo(
  actor: Actor,
  db: Database,
  changed: ChangeOfApp,
  now: number,
): Promise<App | undefined> {
  const columns = async (_: App, tx: Database) => {
    await removeLogo(tx, changed.appId);
    return { logo_hash: null };
  };
  return applyChange(actor, db, { ...changed, columns }, now);
}

interface Change extends ChangeOfApp {
  columns: (before: App, tx: Database) => Columns | Promise<Columns>;
}

type Columns = Updateable<Tables['apps']>;

/** Locks the app first, so that the audit entry names what this change has changed. */
async function applyChange(
  actor: Actor,
  db: Database,
  { appId, columns, keepsBadge }: Change,
  now: number,
): Promise<App | undefined> {
  return inTransaction(db, async (tx) => {
    await lockApp(tx, appId);
    const before = await findApp(tx, appId);
    if (!before) return undefined;
    if (before.ownerScope === 'external') {
      throw new FormError('app', 'This app is not registered here: its settings come from its own metadata.');
    }
    await updateApp(tx, appId, await columns(before, tx));
    const after = (await findApp(tx, appId)) ?? before;
    const changed = changedSettings(before, after);
    if (changed) await recordAppAudit(actor, tx, { action: 'app.changed', app: before, detail: { changed } }, now);
    return endVerification(actor, tx, { before, after, keepsBadge }, now);
  });
}
