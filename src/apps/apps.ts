import type { Actor } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import { isId, newId } from '../lib/ids.ts';
import { readName } from '../lib/names.ts';
import { formatScopes, parseScopes, type Scopes } from '../lib/scope-lists.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { type AuditedApp, recordAppAudit } from './app-audit.ts';
import { readRedirectUris } from './redirect-uris.ts';
import { insertSecret } from './secrets.ts';

/** What a developer registers, or an external client that a user has allowed. `client-ids.ts` relates its id to its `client_id`. */
export interface App extends AppSettings {
  id: string;
  /** `external`: it is not registered here. It describes itself, and is never first-party. */
  ownerScope: 'business' | 'platform' | 'external';
  /** Null for a platform app and an external app. */
  ownerBusinessId: string | null;
  /** Whether it has no secret, like a program on the computer of its user (RFC 6749 §2.1). */
  isPublic: boolean;
  /** The `client_id` of an external app; null for a registered app, whose `client_id` is its id. */
  externalClientId: string | null;
  createdBy: string | null;
  createdAt: number;
  /** When its owner disabled it. */
  disabledAt: number | null;
  /** When the platform paused it everywhere. */
  pausedAt: number | null;
}

/** What the owner of an app can change. */
export interface AppSettings {
  name: string;
  redirectUris: string[];
  allowedScopes: Scopes;
  /** Whether users of other businesses can connect it to theirs. */
  openToAnyBusiness: boolean;
  requiresPkce: boolean;
}

interface AppStatus {
  column: 'disabled_at' | 'paused_at';
  value: number | null;
}

export interface NewApp extends AppSettings {
  /** Chosen when the form is shown, so that submitting it twice registers one app. */
  id?: string;
  /** Null registers a first-party app of the platform. */
  ownerBusinessId: string | null;
  /** A public app cannot become confidential later, nor the other way round. */
  isPublic?: boolean;
}

export interface RegisteredApp {
  app: App;
  /** Null for a public app. */
  secret: string | null;
}

/** Undefined if an app with this id exists already. */
export async function registerApp(
  actor: Actor,
  db: Database,
  app: NewApp,
  now: number,
): Promise<RegisteredApp | undefined> {
  return inTransaction(db, async (tx) => {
    const registered = await insertApp(tx, { ...app, createdBy: actor.id }, now);
    if (registered) await recordAppAudit(actor, tx, { action: 'app.registered', app: registered.app }, now);
    return registered;
  });
}

/** Records no audit entry: only for `registerApp`, benchmarks and tests. Needs a transaction. */
export async function insertApp(
  db: Database,
  { createdBy, ...app }: NewApp & { createdBy: string | null },
  now: number,
): Promise<RegisteredApp | undefined> {
  const row = {
    id: app.id ?? newId(now),
    owner_scope: app.ownerBusinessId === null ? ('platform' as const) : ('business' as const),
    owner_business_id: app.ownerBusinessId,
    is_public: app.isPublic ? 1 : 0,
    external_client_id: null,
    created_by: createdBy,
    created_at: now,
    disabled_at: null,
    paused_at: null,
    deleted_at: null,
    ...settingsRow(app, app.isPublic),
  };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('apps')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow();
  if (!numInsertedOrUpdatedRows) return undefined;
  const inserted = fromRow(row);
  return { app: inserted, secret: inserted.isPublic ? null : await insertSecret(db, inserted, now) };
}

/** Locks the app first, so that the audit entry names what this change has changed. Undefined if there is no such app. */
export async function changeApp(
  actor: Actor,
  db: Database,
  { appId, change }: { appId: string; change: (before: App) => AppSettings },
  now: number,
): Promise<App | undefined> {
  return inTransaction(db, async (tx) => {
    await lockApp(tx, appId);
    const before = await findApp(tx, appId);
    if (!before) return undefined;
    await tx
      .updateTable('apps')
      .set(settingsRow(change(before), before.isPublic))
      .where('id', '=', appId)
      .execute();
    const after = (await findApp(tx, appId)) ?? before;
    const changed = changedSettings(before, after);
    if (changed) await recordAppAudit(actor, tx, { action: 'app.changed', app: before, detail: { changed } }, now);
    return after;
  });
}

const SETTING_NAMES: Record<keyof AppSettings, string> = {
  name: 'name',
  redirectUris: 'redirect URIs',
  allowedScopes: 'allowed scopes',
  openToAnyBusiness: 'who can connect it',
  requiresPkce: 'PKCE',
};

/** For the audit log. Empty if nothing changed. */
function changedSettings(before: AppSettings, after: AppSettings): string {
  const isChanged = (field: keyof AppSettings) => JSON.stringify(before[field]) !== JSON.stringify(after[field]);
  const changed = Object.entries(SETTING_NAMES).filter(([field]) => isChanged(field as keyof AppSettings));
  return changed.map(([, name]) => name).join(', ');
}

/** Locks the row until the transaction ends. */
export async function lockApp(db: Database, appId: string): Promise<void> {
  await db
    .updateTable('apps')
    .set(({ ref }) => ({ name: ref('name') }))
    .where('id', '=', appId)
    .execute();
}

/** Part of `disableApp` and the like (suspension.ts). Atomic: of concurrent calls, one returns true. */
export async function setAppStatus(db: Database, appId: string, { column, value }: AppStatus): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('apps')
    .set({ [column]: value })
    .where('id', '=', appId)
    .where('deleted_at', 'is', null)
    .where(column, value === null ? 'is not' : 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** Keeps the row, so that its grants still have the reason why they ended. False if the app was deleted already. */
export async function deleteApp(actor: Actor, db: Database, app: AuditedApp, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('apps')
      .set({ deleted_at: now })
      .where('id', '=', app.id)
      .where('deleted_at', 'is', null)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) return false;
    await recordAppAudit(actor, tx, { action: 'app.deleted', app }, now);
    return true;
  });
}

export async function findApp(db: Database, id: string): Promise<App | undefined> {
  if (!isId(id)) return undefined;
  const { rows } = await readApp(db, { id });
  return rows[0] && fromRow(rows[0]);
}

const readApp = preparedQuery((db, { id }: Pick<App, 'id'>) => selectApps(db).where('id', '=', id));

export async function listAppsById(db: Database, ids: string[]): Promise<App[]> {
  if (ids.length === 0) return [];
  return (await selectApps(db).where('id', 'in', ids).orderBy('name').execute()).map(fromRow);
}

/** Null lists the apps of the platform. */
export async function listAppsOf(db: Database, ownerBusinessId: string | null): Promise<App[]> {
  return (await selectAppsOf(db, ownerBusinessId).orderBy('name').execute()).map(fromRow);
}

function selectApps(db: Database) {
  return db.selectFrom('apps').selectAll().where('deleted_at', 'is', null);
}

export function selectAppsOf(db: Database, ownerBusinessId: string | null) {
  if (ownerBusinessId === null) return selectApps(db).where('owner_scope', '=', 'platform');
  return selectApps(db).where('owner_business_id', '=', ownerBusinessId);
}

/** A public app always uses PKCE: nothing else protects its codes (RFC 9700 §2.1.1). */
function settingsRow(settings: AppSettings, isPublic = false) {
  const row = {
    name: readName('name', settings.name),
    redirect_uris: JSON.stringify(readRedirectUris(settings.redirectUris)),
    allowed_scopes: formatScopes(settings.allowedScopes),
    open_to_any_business: settings.openToAnyBusiness ? 1 : 0,
    requires_pkce: settings.requiresPkce || isPublic ? 1 : 0,
  };
  if (settings.allowedScopes.length === 0) throw new FormError('scope', 'Choose at least one scope.');
  return row;
}

export function fromRow(row: Row<'apps'>): App {
  return {
    id: row.id,
    name: row.name,
    ownerScope: row.owner_scope,
    ownerBusinessId: row.owner_business_id,
    isPublic: row.is_public === 1,
    externalClientId: row.external_client_id,
    openToAnyBusiness: row.open_to_any_business === 1,
    requiresPkce: row.requires_pkce === 1,
    allowedScopes: parseScopes(row.allowed_scopes),
    redirectUris: JSON.parse(row.redirect_uris),
    createdBy: row.created_by,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
    pausedAt: row.paused_at,
  };
}
