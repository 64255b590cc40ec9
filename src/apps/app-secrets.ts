import type { EventType } from '../events/event-types.ts';
import { recordEvent } from '../events/events.ts';
import { MINUTE } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { hashSecret, newSecret } from '../lib/secrets.ts';
import type { Database } from '../storage/storage.ts';

/** What can be told of a secret after the one time it was shown. */
export interface AppSecret {
  id: string;
  /** Its last four characters. */
  hint: string;
  createdAt: number;
  lastUsedAt: number | null;
}

/** What a secret is called once it cannot be shown any more. */
export function secretName(hint: string): string {
  return `gcs_…${hint}`;
}

/** An app has at most two secrets, so that one can be replaced while the other is still in use. */
const SLOTS = [1, 2];

/** Use is written down at most this often: a refresh should not cost a second write. */
const USED_EVERY = MINUTE;

/** Needs a transaction: the change and what is said of it are one. */
export async function addSecret(db: Database, appId: string, now: number): Promise<string> {
  const [id, secret] = [newId(now), newSecret('gcs_')];
  for (const slot of SLOTS) {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('app_secrets')
      .values({
        id,
        app_id: appId,
        slot,
        secret_hash: hashSecret(secret),
        hint: secret.slice(-4),
        created_at: now,
        last_used_at: null,
      })
      .onConflict((conflict) => conflict.columns(['app_id', 'slot']).doNothing())
      .executeTakeFirstOrThrow();
    if (!numInsertedOrUpdatedRows) continue;
    await tell(db, 'app.secret_added', { appId, secretId: id }, now);
    return secret;
  }
  throw new FormError('secret', 'An app has at most two secrets. Remove the old one first.');
}

/**
 * Never the last one: an app without a secret could not be used any more. False if the app has no such secret. Needs a
 * transaction: writing to all of the app's secrets first makes a second removal wait until this one is done.
 */
export async function removeSecret(db: Database, appId: string, secretId: string, now: number): Promise<boolean> {
  await db
    .updateTable('app_secrets')
    .set(({ ref }) => ({ slot: ref('slot') }))
    .where('app_id', '=', appId)
    .execute();
  const { numDeletedRows } = await db
    .deleteFrom('app_secrets')
    .where('app_id', '=', appId)
    .where('id', '=', secretId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('app_secrets as other')
          .select('id')
          .where('other.app_id', '=', appId)
          .where('other.id', '!=', secretId),
      ),
    )
    .executeTakeFirstOrThrow();
  if (numDeletedRows > 0n) {
    await tell(db, 'app.secret_removed', { appId, secretId }, now);
    return true;
  }
  const remaining = await listSecrets(db, appId);
  if (!remaining.some(({ id }) => id === secretId)) return false;
  throw new FormError('secret', 'This is the only secret. Add a new one first.');
}

async function tell(
  db: Database,
  type: EventType,
  { appId, secretId }: { appId: string; secretId: string },
  now: number,
): Promise<void> {
  const app = await db.selectFrom('apps').select('owner_business_id').where('id', '=', appId).executeTakeFirst();
  await recordEvent(db, { type, appId, businessId: app?.owner_business_id ?? null, data: { secretId } }, now);
}

export async function listSecrets(db: Database, appId: string): Promise<AppSecret[]> {
  return (await selectSecrets(db, appId)).map((row) => ({
    id: row.id,
    hint: row.hint,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }));
}

/** When each of some apps last proved itself, with whichever secret, in one question. */
export async function listLastUses(db: Database, appIds: string[]): Promise<(appId: string) => number | null> {
  if (appIds.length === 0) return () => null;
  const rows = await db
    .selectFrom('app_secrets')
    .select(({ fn }) => ['app_id', fn.max('last_used_at').as('last')])
    .where('app_id', 'in', appIds)
    .groupBy('app_id')
    .execute();
  const uses = new Map(rows.map(({ app_id, last }) => [app_id, last]));
  return (appId) => uses.get(appId) ?? null;
}

function selectSecrets(db: Database, appId: string) {
  return db.selectFrom('app_secrets').selectAll().where('app_id', '=', appId).orderBy('created_at').execute();
}

/** A secret has proven its app. */
export async function useSecret(
  db: Database,
  { id, lastUsedAt }: Pick<AppSecret, 'id' | 'lastUsedAt'>,
  now: number,
): Promise<void> {
  if (now - (lastUsedAt ?? 0) < USED_EVERY) return;
  await db.updateTable('app_secrets').set({ last_used_at: now }).where('id', '=', id).execute();
}
