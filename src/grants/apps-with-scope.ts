import { containsName } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { selectLiveGrantsOfMembers } from './status.ts';

/** The apps that have this scope in a business now. */
export async function listAppsWithScope(
  db: Database,
  { businessId, scope }: { businessId: string; scope: string },
  now: number,
): Promise<string[]> {
  const connected = db.selectFrom('grants').select('grants.app_id').where('grants.business_id', '=', businessId);
  const live = selectLiveWithScope(db, scope, now).where('grants.business_id', '=', businessId);
  const rows = await db
    .selectFrom('apps as candidate')
    .select('candidate.id')
    .where('candidate.id', 'in', connected)
    .where(({ exists, ref }) => exists(live.where('grants.app_id', '=', ref('candidate.id'))))
    .orderBy('candidate.id')
    .execute();
  return rows.map(({ id }) => id);
}

/** Those of the businesses in which the app has this scope now. */
export async function listBusinessesWithScope(
  db: Database,
  { appId, businessIds, scope }: { appId: string; businessIds: string[]; scope: string },
  now: number,
): Promise<string[]> {
  const live = selectLiveWithScope(db, scope, now).where('grants.app_id', '=', appId);
  const rows = await db
    .selectFrom('businesses as candidate')
    .select('candidate.id')
    .where('candidate.id', 'in', businessIds)
    .where(({ exists, ref }) => exists(live.where('grants.business_id', '=', ref('candidate.id'))))
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * Active grants with this scope, for `exists`: the database stops at the first. The conditions are those of
 * `inactiveReasonOf`.
 */
function selectLiveWithScope(db: Database, scope: string, now: number) {
  return selectLiveGrantsOfMembers(db, now)
    .innerJoin('apps', 'apps.id', 'grants.app_id')
    .select('grants.id')
    .where('grants.revoked_reason', 'is', null)
    .where(containsName('grants.scopes', scope))
    .where(({ not }) => not(containsName('grants.withdrawn_scopes', scope)))
    .where(containsName('apps.allowed_scopes', scope))
    .where('apps.deleted_at', 'is', null)
    .where('apps.paused_at', 'is', null)
    .where('apps.disabled_at', 'is', null)
    .where(({ or, eb, ref }) =>
      or([
        eb('apps.owner_business_id', 'is', null),
        eb('apps.open_to_any_business', '=', 1),
        eb('apps.owner_business_id', '=', ref('grants.business_id')),
      ]),
    );
}
