import type { Updateable } from 'kysely';
import type { Actor } from '../audit/entries.ts';
import { DAY } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { isId, newId } from '../lib/ids.ts';
import { formatScopes } from '../lib/scope-lists.ts';
import { batchedQuery } from '../storage/batched-query.ts';
import type { RetentionStep } from '../storage/retention.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Tables } from '../storage/tables.ts';
import { type App, type AppSettings, fromRow, identityRow, NO_IDENTITY, settingsRow } from './app.ts';
import { recordAppAudit } from './app-audit.ts';
import { removeLogo } from './logos.ts';
import { insertSecret } from './secrets.ts';

export type { App, AppIdentity, AppSettings } from './app.ts';

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
  /** Schemes of redirect URIs that the operator allows public apps. */
  privateSchemes?: readonly string[];
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
    removable_at: null,
    ...identityRow(NO_IDENTITY),
    logo_hash: null,
    verified_at: null,
    ...settingsRow(app, app),
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

const LINKS = ['homepage_url', 'privacy_url', 'terms_url'] as const;
const EXTERNAL_RETENTION = 31 * DAY;

/**
 * Needs a transaction: the one of an Allow. The first creates the row of an external app, and later ones update what the app
 * says about itself. An unchanged row is updated once a day only, so that users of a popular app do not wait for each other.
 */
export async function saveExternalApp(db: Database, app: App, now: number): Promise<void> {
  const described = { name: app.name, redirect_uris: JSON.stringify(app.redirectUris), ...identityRow(app.identity) };
  const allowed_scopes = formatScopes(app.allowedScopes);
  const row = { ...described, allowed_scopes, removable_at: now + EXTERNAL_RETENTION };
  const { numUpdatedRows } = await db
    .updateTable('apps')
    .set(row)
    .where('id', '=', app.id)
    .where(({ eb, or }) =>
      or([
        eb('name', '!=', row.name),
        eb('redirect_uris', '!=', row.redirect_uris),
        eb('allowed_scopes', '!=', allowed_scopes),
        ...LINKS.map((link) => eb(link, 'is distinct from', row[link])),
        eb('removable_at', '<', row.removable_at - DAY),
      ]),
    )
    .executeTakeFirstOrThrow();
  if (numUpdatedRows > 0n) return;
  const kind = { owner_scope: 'external' as const, is_public: 1, requires_pkce: 1, open_to_any_business: 1 };
  await db
    .insertInto('apps')
    .values({ id: app.id, external_client_id: app.externalClientId, ...kind, ...row, created_at: now })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/**
 * Removes external apps that no user has allowed for a month, and that have no grant, no consent and no decision of an
 * owner. Postpones the others that are due. A paused app stays, because removing it would resume it.
 */
export const unusedExternalApps: RetentionStep = {
  table: 'apps',
  async remove(db, limit, now) {
    const due = db
      .selectFrom('apps')
      .select('id')
      .where('removable_at', '<=', now)
      .orderBy('removable_at')
      .limit(limit);
    const ids = (await due.execute()).map(({ id }) => id);
    if (ids.length === 0) return 0;
    const used = await listUsed(db, ids);
    // An Allow in the meantime sets `removable_at`, so both statements check it again.
    await db
      .updateTable('apps')
      .set({ removable_at: now + EXTERNAL_RETENTION })
      .where('id', 'in', ids)
      .where('removable_at', '<=', now)
      .where(({ eb, or }) => or([eb('paused_at', 'is not', null), ...(used.length > 0 ? [eb('id', 'in', used)] : [])]))
      .execute();
    const removed = db.deleteFrom('apps').where('id', 'in', ids).where('removable_at', '<=', now);
    return Number((await removed.executeTakeFirstOrThrow()).numDeletedRows);
  },
};

/** Lists the apps that have a grant, a consent, an approval or a request. One query per table: `grants` may be sharded. */
async function listUsed(db: Database, ids: string[]): Promise<string[]> {
  const used = new Set<string>();
  // A revoked grant has its reason in its row.
  const grants = db.selectFrom('grants').select('app_id').distinct().where('revoked_at', 'is', null);
  for (const { app_id } of await grants.where('app_id', 'in', ids).execute()) used.add(app_id);
  for (const table of ['consents', 'app_approvals', 'app_requests'] as const) {
    const rows = await db.selectFrom(table).select('app_id').distinct().where('app_id', 'in', ids).execute();
    for (const { app_id } of rows) used.add(app_id);
  }
  return [...used];
}

/** Part of a change that records its audit entry (app-changes.ts). */
export async function updateApp(db: Database, appId: string, columns: Updateable<Tables['apps']>): Promise<void> {
  await db.updateTable('apps').set(columns).where('id', '=', appId).execute();
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

/**
 * Keeps the row, so that its grants still have the reason why they ended. False if the app was deleted already. An external
 * app cannot be deleted, because the next Allow would create it again: pause it instead.
 */
export async function deleteApp(actor: Actor, db: Database, app: App, now: number): Promise<boolean> {
  if (app.ownerScope === 'external') {
    throw new FormError(
      'app',
      'This app is not registered here: its settings come from its own metadata. Pause it instead.',
    );
  }
  return inTransaction(db, async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('apps')
      .set({ deleted_at: now })
      .where('id', '=', app.id)
      .where('deleted_at', 'is', null)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) return false;
    await removeLogo(tx, app.id);
    await recordAppAudit(actor, tx, { action: 'app.deleted', app }, now);
    return true;
  });
}

export async function findApp(db: Database, id: string): Promise<App | undefined> {
  if (!isId(id)) return undefined;
  const { rows } = await readApp(db, { id });
  return rows[0] && fromRow(rows[0]);
}

const readApp = batchedQuery({ id: 'uuid' }, (db, { id }: Pick<App, 'id'>) => selectApps(db).where('id', '=', id));

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
