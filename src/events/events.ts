import { DAY } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { Database } from '../storage/storage.ts';

/**
 * The outbox. What happened is recorded in the same transaction as the change itself, so that neither exists without
 * the other. An event holds ids and reasons, never a token or a secret.
 */
export interface NewEvent {
  type: 'grant.created' | 'grant.revoked';
  appId: string;
  businessId: string;
  data: Record<string, string | readonly string[]>;
}

const KEPT_FOR = 30 * DAY;

export async function recordEvent(db: Database, { type, appId, businessId, data }: NewEvent, now: number) {
  await db
    .insertInto('events')
    .values({
      id: newId(now),
      type,
      app_id: appId,
      business_id: businessId,
      data: JSON.stringify(data),
      created_at: now,
    })
    .execute();
}

export async function removeOldEvents(db: Database, limit: number, now: number): Promise<number> {
  const old = db
    .selectFrom('events')
    .select('id')
    .where('created_at', '<', now - KEPT_FOR)
    .orderBy('created_at')
    .limit(limit);
  const result = await db.deleteFrom('events').where('id', 'in', old).executeTakeFirst();
  return Number(result.numDeletedRows);
}
