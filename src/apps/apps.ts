import { FormError } from '../lib/errors.ts';
import { isId, newId } from '../lib/ids.ts';
import { readName } from '../lib/names.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { addSecret } from './app-secrets.ts';
import { readRedirectUris } from './redirect-uris.ts';

/** What a developer registers. Its id is the `client_id` on the wire. */
export interface App extends AppSettings {
  id: string;
  ownerScope: 'business' | 'platform';
  /** Null for a platform app. */
  ownerBusinessId: string | null;
  createdBy: string | null;
  createdAt: number;
  /** By its owner. */
  disabledAt: number | null;
  /** By the platform, everywhere. */
  pausedAt: number | null;
}

/** What its owner may change. */
export interface AppSettings {
  name: string;
  redirectUris: string[];
  /** A mask of `oauth/scopes.ts`. */
  allowedScopes: number;
  /** Whether users of other businesses may connect it to theirs. */
  openToAnyBusiness: boolean;
  requiresPkce: boolean;
}

export interface NewApp extends AppSettings {
  /** Chosen beforehand by a form, so that sending it twice registers one app. */
  id?: string;
  /** Null registers a first-party app of the platform. */
  ownerBusinessId: string | null;
  createdBy: string | null;
}

/** Needs a transaction: an app without a secret could never be used. Undefined if the id has been used before. */
export async function registerApp(
  db: Database,
  app: NewApp,
  now: number,
): Promise<{ app: App; secret: string } | undefined> {
  const row = {
    id: app.id ?? newId(now),
    owner_scope: app.ownerBusinessId === null ? ('platform' as const) : ('business' as const),
    owner_business_id: app.ownerBusinessId,
    created_by: app.createdBy,
    created_at: now,
    disabled_at: null,
    paused_at: null,
    deleted_at: null,
    ...settingsRow(app),
  };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('apps')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow();
  if (!numInsertedOrUpdatedRows) return undefined;
  return { app: fromRow(row), secret: await addSecret(db, row.id, now) };
}

export async function changeApp(db: Database, appId: string, settings: AppSettings): Promise<void> {
  await db.updateTable('apps').set(settingsRow(settings)).where('id', '=', appId).execute();
}

/** Whoever else would do the same to this app has to wait until this transaction ends. */
export async function holdApp(db: Database, appId: string): Promise<void> {
  await db
    .updateTable('apps')
    .set(({ ref }) => ({ name: ref('name') }))
    .where('id', '=', appId)
    .execute();
}

/** Reversible: while it is disabled no token of the app works, and nobody can connect it. */
export async function disableApp(db: Database, appId: string, now: number): Promise<void> {
  await db.updateTable('apps').set({ disabled_at: now }).where('id', '=', appId).execute();
}

export async function enableApp(db: Database, appId: string): Promise<void> {
  await db.updateTable('apps').set({ disabled_at: null }).where('id', '=', appId).execute();
}

/** The row stays, so that what the app was allowed to do can still say why it ended. */
export async function deleteApp(db: Database, appId: string, now: number): Promise<void> {
  await db.updateTable('apps').set({ deleted_at: now }).where('id', '=', appId).execute();
}

export async function findApp(db: Database, id: string): Promise<App | undefined> {
  if (!isId(id)) return undefined;
  const row = await selectApps(db).where('id', '=', id).executeTakeFirst();
  return row && fromRow(row);
}

export async function listAppsById(db: Database, ids: string[]): Promise<App[]> {
  if (ids.length === 0) return [];
  return (await selectApps(db).where('id', 'in', ids).orderBy('name').execute()).map(fromRow);
}

export async function listBusinessApps(db: Database, businessId: string): Promise<App[]> {
  return (await selectApps(db).where('owner_business_id', '=', businessId).orderBy('name').execute()).map(fromRow);
}

export async function listPlatformApps(db: Database): Promise<App[]> {
  return (await selectApps(db).where('owner_scope', '=', 'platform').orderBy('name').execute()).map(fromRow);
}

function selectApps(db: Database) {
  return db.selectFrom('apps').selectAll().where('deleted_at', 'is', null);
}

function settingsRow(settings: AppSettings) {
  return {
    name: readName('name', settings.name),
    redirect_uris: JSON.stringify(readRedirectUris(settings.redirectUris)),
    allowed_scopes: readAllowedScopes(settings.allowedScopes),
    open_to_any_business: settings.openToAnyBusiness ? 1 : 0,
    requires_pkce: settings.requiresPkce ? 1 : 0,
  };
}

function readAllowedScopes(scopes: number): number {
  if (scopes === 0) throw new FormError('scope', 'Choose at least one scope.');
  return scopes;
}

function fromRow(row: Row<'apps'>): App {
  return {
    id: row.id,
    name: row.name,
    ownerScope: row.owner_scope,
    ownerBusinessId: row.owner_business_id,
    openToAnyBusiness: row.open_to_any_business === 1,
    requiresPkce: row.requires_pkce === 1,
    allowedScopes: row.allowed_scopes,
    redirectUris: JSON.parse(row.redirect_uris),
    createdBy: row.created_by,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
    pausedAt: row.paused_at,
  };
}
