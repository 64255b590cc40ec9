import { findApp } from '../apps/apps.ts';
import type { Event } from '../events/events.ts';
import { listAppsAllowed } from '../oauth/grant-standing.ts';
import type { Database } from '../storage/storage.ts';

/**
 * What an event tells of a business, its app may know only for as long as it could also go and look. What concerns the
 * grant or the app itself it may always hear, until it is deleted.
 */
export async function mayHear(db: Database, { type, appId, businessId }: Event, now: number): Promise<boolean> {
  if (!(await findApp(db, appId))) return false;
  if (!type.startsWith('invoice.') || businessId === null) return true;
  return (await listAppsAllowed(db, { businessId, appId, scope: 'read:invoices' }, now)).length > 0;
}
