import type { App } from '../apps/apps.ts';
import { lastUses } from '../request-log/counts.ts';
import { contains, type SearchTerm } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { type Counted, MAX_READ } from './counts.ts';
import { endedReason, isSuspendedBy, selectUnrevokedWithParties } from './status.ts';
import { boundBusiness } from './tenancy.ts';
import { isLive } from './unrevoked.ts';

/** A business that an app is connected to, as its developer sees it: without the names of users. */
export interface AppConnection extends Counted {
  /** The id of the business. */
  id: string;
  businessName: string;
  users: number;
  since: number;
  /** When the last of its users’ connections ends; null until they disconnect the app. Of those that were read. */
  expiresAt: number | null;
  /** When it last used a scope there, as far back as usage is kept. */
  lastUsedAt: number | null;
}

/** Rows of grants for each business of a list. */
const MAX_ROWS = 500;
const BATCH = 100;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** With live grants, newest business first. */
export async function listAppConnections(
  db: Database,
  app: App,
  sought: SearchTerm,
  now: number,
): Promise<AppConnection[]> {
  const ids = await listConnectedBusinesses(db, app, sought, now);
  if (ids.length === 0) return [];
  const used = await lastUses(db, app.id, ids);
  const businesses = await db.selectFrom('businesses').select(['id', 'name']).where('id', 'in', ids).execute();
  const names = new Map(businesses.map(({ id, name }) => [id, name]));
  const connections: AppConnection[] = [];
  for (const id of ids) {
    const businessName = names.get(id);
    const summary = await summarise(db, { app, businessId: id }, now);
    const lastUsedAt = used.get(id) ?? null;
    if (businessName !== undefined && summary) connections.push({ id, businessName, lastUsedAt, ...summary });
  }
  return connections;
}

/** Reads a bounded number of rows. Once a business is found, its other grants are skipped. */
async function listConnectedBusinesses(
  db: Database,
  app: App,
  { search, after = LAST_ID, limit }: SearchTerm,
  now: number,
): Promise<string[]> {
  const found = new Set<string>();
  let from: Bound = [after, FIRST_ID];
  for (let read = 0; read < MAX_READ && found.size < limit; read += BATCH) {
    const rows = await selectBefore(db, app, search, from, now).limit(BATCH).execute();
    for (const { businessId } of rows.filter((row) => isConnected(row, now))) found.add(businessId);
    const last = rows.at(-1);
    if (!last || rows.length < BATCH) break;
    from = [last.businessId, found.has(last.businessId) ? FIRST_ID : last.grantId];
  }
  return [...found].slice(0, limit);
}

type Bound = [businessId: string, grantId: string];

/** In the descending order of the index of the app. */
function selectBefore(db: Database, app: App, search: string, [businessId, id]: Bound, now: number) {
  const query = selectUnrevoked(db, app, now)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('grants.business_id', 'grants.id'), '<', tuple(businessId, id)))
    .orderBy('grants.business_id', 'desc')
    .orderBy('grants.id', 'desc');
  if (!search) return query;
  const named = db
    .selectFrom('businesses')
    .select('id')
    .where(contains(['businesses.name'], search));
  return query.where('grants.business_id', 'in', named);
}

function selectUnrevoked(db: Database, app: App, now: number) {
  const query = selectUnrevokedWithParties(db)
    .select(['grants.id as grantId', 'grants.business_id as businessId', 'grants.user_id as userId'])
    .select(['grants.created_at as since', 'grants.expires_at as expiresAt', 'grants.refresh_expires_at as until'])
    .select([endedReason(now).as('ended'), isSuspendedBy('user_disabled', now).as('isDisabled')])
    .where('grants.app_id', '=', app.id);
  const bound = boundBusiness(app);
  return bound === null ? query : query.where('grants.business_id', '=', bound);
}

type Unrevoked = Awaited<ReturnType<ReturnType<typeof selectUnrevoked>['execute']>>[number];

function isConnected(row: Unrevoked, now: number): boolean {
  return isLive(row, now) && !row.isDisabled;
}

/** Undefined if none of the rows that were read is live any more. */
async function summarise(db: Database, { app, businessId }: { app: App; businessId: string }, now: number) {
  const rows = await selectUnrevoked(db, app, now)
    .where('grants.business_id', '=', businessId)
    .where('grants.id', '>', FIRST_ID)
    .orderBy('grants.id')
    .limit(MAX_ROWS)
    .execute();
  const connected = rows.filter((row) => isConnected(row, now));
  const [oldest] = connected;
  if (!oldest) return undefined;
  const ends = connected.map(({ expiresAt }) => expiresAt);
  return {
    users: new Set(connected.map(({ userId }) => userId)).size,
    isPart: rows.length === MAX_ROWS,
    since: oldest.since,
    expiresAt: ends.includes(null) ? null : Math.max(...ends.map(Number)),
  };
}
