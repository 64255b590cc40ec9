import { isId } from '../lib/ids.ts';
import { contains, type SearchTerm } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { type App, fromRow } from './app.ts';
import { selectAppsOf } from './apps.ts';

/** Finds apps of one owner by name or client_id, newest first. */
export async function searchAppsOf(
  db: Database,
  ownerBusinessId: string | null,
  { search, after, limit }: SearchTerm,
): Promise<App[]> {
  let query = selectAppsOf(db, ownerBusinessId).orderBy('id', 'desc').limit(limit);
  if (after) query = query.where('id', '<', after);
  if (isId(search)) query = query.where('id', '=', search);
  else if (search) query = query.where(contains(['name'], search));
  return (await query.execute()).map(fromRow);
}

export interface OwnedApp extends App {
  /** Null for an app of the platform. */
  ownerName: string | null;
}

/** Finds apps of all owners by name, client_id, or the name or id of the owner. */
export async function searchApps(db: Database, { search, after, limit }: SearchTerm): Promise<OwnedApp[]> {
  let query = selectOwnedApps(db).orderBy('apps.id', 'desc').limit(limit);
  if (after) query = query.where('apps.id', '<', after);
  if (isId(search)) {
    query = query.where(({ eb, or }) => or([eb('apps.id', '=', search), eb('apps.owner_business_id', '=', search)]));
  } else if (search) query = query.where(contains(['apps.name', 'businesses.name'], search));
  return (await query.execute()).map(({ owner_name, ...row }) => ({ ...fromRow(row), ownerName: owner_name }));
}

export async function findOwnedApp(db: Database, id: string): Promise<OwnedApp | undefined> {
  if (!isId(id)) return undefined;
  const row = await selectOwnedApps(db).where('apps.id', '=', id).executeTakeFirst();
  return row && { ...fromRow(row), ownerName: row.owner_name };
}

function selectOwnedApps(db: Database) {
  return db
    .selectFrom('apps')
    .leftJoin('businesses', 'businesses.id', 'apps.owner_business_id')
    .selectAll('apps')
    .select('businesses.name as owner_name')
    .where('apps.deleted_at', 'is', null);
}
