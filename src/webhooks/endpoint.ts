import type { EventType } from '../events/event-types.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { markOf } from './endpoint-secrets.ts';

/** Where an app wants to hear of what happens. */
export interface Endpoint {
  id: string;
  appId: string;
  url: string;
  eventTypes: EventType[];
  createdAt: number;
  disabledAt: number | null;
  /** `by_owner`, `gone` (it answered 410) or `failing` (for three days). */
  disabledReason: DisabledReason | null;
  failingSince: number | null;
  /** Until then the secret before this one signs as well. */
  oldSecretUntil: number | null;
}

export type DisabledReason = 'by_owner' | 'gone' | 'failing';

/** An endpoint that this node alone may work on, until the lease ends. */
export interface Claimed extends Endpoint {
  /** What signs: the secret, and the one before it for as long as both do. */
  secrets: string[];
  lease: number;
  owner: string;
}

export async function listEndpoints(db: Database, appId: string): Promise<Endpoint[]> {
  const rows = await db.selectFrom('endpoints').selectAll().where('app_id', '=', appId).orderBy('id').execute();
  return rows.map(fromRow);
}

export async function findEndpoint(db: Database, appId: string, id: string): Promise<Endpoint | undefined> {
  const query = db.selectFrom('endpoints').selectAll().where('app_id', '=', appId).where('id', '=', id);
  const row = await query.executeTakeFirst();
  return row && fromRow(row);
}

/** Says which secret signs there, without telling anything of it. */
export async function findSecretMark(db: Database, { id }: Endpoint): Promise<string> {
  const row = await db.selectFrom('endpoints').select('secret').where('id', '=', id).executeTakeFirst();
  return row ? markOf(row.secret) : '';
}

/** Whether it may still be sent to: it is there, on, at the same address, and nobody else's. */
export async function isStillClaimed(db: Database, { id, url, lease }: Claimed): Promise<boolean> {
  const row = await db
    .selectFrom('endpoints')
    .select('id')
    .where('id', '=', id)
    .where('url', '=', url)
    .where('claimed_until', '=', lease)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  return row !== undefined;
}

export function fromRow(row: Row<'endpoints'>): Endpoint {
  return {
    id: row.id,
    appId: row.app_id,
    url: row.url,
    eventTypes: JSON.parse(row.event_types),
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
    disabledReason: row.disabled_reason as DisabledReason | null,
    failingSince: row.failing_since,
    oldSecretUntil: row.old_secret_until,
  };
}
