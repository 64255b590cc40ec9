import { FormError } from '../lib/errors.ts';
import { isId, newId } from '../lib/ids.ts';
import { readName } from '../lib/names.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { contains, type SearchTerm } from '../storage/search.ts';
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
export async function lockApp(db: Database, appId: string): Promise<void> {
  await db
    .updateTable('apps')
    .set(({ ref }) => ({ name: ref('name') }))
    .where('id', '=', appId)
    .execute();
}

/** Reversible: while it is disabled no token of the app works, and nobody can connect it. False if it was so already. */
export async function disableApp(db: Database, appId: string, now: number): Promise<boolean> {
  return switchApp(db, appId, 'disabled_at', now);
}

export async function enableApp(db: Database, appId: string): Promise<boolean> {
  return switchApp(db, appId, 'disabled_at', null);
}

/** The same by the platform, whatever the app's owner does with their own switch. */
export async function pauseApp(db: Database, appId: string, now: number): Promise<boolean> {
  return switchApp(db, appId, 'paused_at', now);
}

export async function resumeApp(db: Database, appId: string): Promise<boolean> {
  return switchApp(db, appId, 'paused_at', null);
}

/** True for exactly one caller: the row itself decides who was first. */
async function switchApp(db: Database, appId: string, since: 'disabled_at' | 'paused_at', value: number | null) {
  const { numUpdatedRows } = await db
    .updateTable('apps')
    .set({ [since]: value })
    .where('id', '=', appId)
    .where('deleted_at', 'is', null)
    .where(since, value === null ? 'is not' : 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** The row stays, so that what the app was allowed to do can still say why it ended. False if it was deleted already. */
export async function deleteApp(db: Database, appId: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('apps')
    .set({ deleted_at: now })
    .where('id', '=', appId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
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

export async function listBusinessApps(db: Database, businessId: string): Promise<App[]> {
  return (await selectApps(db).where('owner_business_id', '=', businessId).orderBy('name').execute()).map(fromRow);
}

export async function listPlatformApps(db: Database): Promise<App[]> {
  return (await selectApps(db).where('owner_scope', '=', 'platform').orderBy('name').execute()).map(fromRow);
}

/** Those of one owner, null being the platform, by name or client_id; the newest first. */
export async function searchAppsOf(
  db: Database,
  ownerBusinessId: string | null,
  { search, after, limit }: SearchTerm,
): Promise<App[]> {
  let query = selectApps(db).orderBy('id', 'desc').limit(limit);
  query =
    ownerBusinessId === null
      ? query.where('owner_scope', '=', 'platform')
      : query.where('owner_business_id', '=', ownerBusinessId);
  if (after) query = query.where('id', '<', after);
  if (isId(search)) query = query.where('id', '=', search);
  else if (search) query = query.where(contains(['name'], search));
  return (await query.execute()).map(fromRow);
}

/** With whose it is: null for the platform's own. */
export interface OwnedApp extends App {
  ownerName: string | null;
}

/** By name, client_id, or the name or id of the owner, whoever that is. */
export async function searchApps(db: Database, { search, after, limit }: SearchTerm): Promise<OwnedApp[]> {
  let query = selectOwnedApps(db).orderBy('apps.id', 'desc').limit(limit);
  if (after) query = query.where('apps.id', '<', after);
  if (isId(search)) {
    query = query.where(({ eb, or }) => or([eb('apps.id', '=', search), eb('apps.owner_business_id', '=', search)]));
  } else if (search) query = query.where(contains(['apps.name', 'businesses.name'], search));
  return (await query.execute()).map(fromOwnedRow);
}

export async function findOwnedApp(db: Database, id: string): Promise<OwnedApp | undefined> {
  if (!isId(id)) return undefined;
  const row = await selectOwnedApps(db).where('apps.id', '=', id).executeTakeFirst();
  return row && fromOwnedRow(row);
}

function selectOwnedApps(db: Database) {
  return db
    .selectFrom('apps')
    .leftJoin('businesses', 'businesses.id', 'apps.owner_business_id')
    .selectAll('apps')
    .select('businesses.name as owner_name')
    .where('apps.deleted_at', 'is', null);
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

function fromOwnedRow({ owner_name, ...row }: Row<'apps'> & { owner_name: string | null }): OwnedApp {
  return { ...fromRow(row), ownerName: owner_name };
}
