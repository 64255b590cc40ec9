import { notifyOwners } from '../accounts/notices.ts';
import type { Actor } from '../audit/entries.ts';
import { recordEvent } from '../events/events.ts';
import { MINUTE } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { hashSecret, newSecret } from '../lib/secrets.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { type AuditedApp, recordAppAudit } from './app-audit.ts';

/** A secret without its value, which is shown only once. */
export interface AppSecret {
  id: string;
  /** Its last four characters. */
  hint: string;
  createdAt: number;
  lastUsedAt: number | null;
}

/** How pages and the audit log name a secret. */
export function secretName(hint: string): string {
  return `gcs_…${hint}`;
}

/** Two secrets, so that one can be replaced while the other is in use. */
const SLOTS = [1, 2];

/** `last_used_at` is written at most this often: a refresh should not cost a second write. */
export const LAST_USED_PRECISION = MINUTE;

export async function addSecret(
  actor: Actor,
  db: Database,
  app: AuditedApp & { isPublic: boolean },
  now: number,
): Promise<string> {
  if (app.isPublic) throw new FormError('secret', 'A public app has no secret.');
  return inTransaction(db, async (tx) => {
    const secret = await insertSecret(tx, app, now);
    const detail = { secret: secretName(secret.slice(-4)) };
    await recordAppAudit(actor, tx, { action: 'secret.added', app, detail }, now);
    const by = actor.kind === 'operator' ? '' : actor.name;
    const values = { app: app.name, appId: app.id, businessId: app.ownerBusinessId ?? '', by };
    await notifyOwners(tx, app.ownerBusinessId, { kind: 'secret_added', values, cause: app.id }, now);
    return secret;
  });
}

/** Records the event, but no audit entry. Needs a transaction. */
export async function insertSecret(
  db: Database,
  app: Pick<AuditedApp, 'id' | 'ownerBusinessId'>,
  now: number,
): Promise<string> {
  const [id, secret] = [newId(now), newSecret('gcs_')];
  for (const slot of SLOTS) {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('app_secrets')
      .values({
        id,
        app_id: app.id,
        slot,
        secret_hash: hashSecret(secret),
        hint: secret.slice(-4),
        created_at: now,
        last_used_at: null,
      })
      .onConflict((conflict) => conflict.columns(['app_id', 'slot']).doNothing())
      .executeTakeFirstOrThrow();
    if (!numInsertedOrUpdatedRows) continue;
    await recordSecretEvent(db, { type: 'app.secret_added', app, secretId: id }, now);
    return secret;
  }
  throw new FormError('secret', 'An app has at most two secrets. Remove the old one first.');
}

/** Never removes the last secret: without one, an app cannot authenticate. False if the app has no such secret. */
export async function removeSecret(
  actor: Actor,
  db: Database,
  { app, secretId }: { app: AuditedApp; secretId: string },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    await lockSecrets(tx, app.id);
    const secrets = await listSecrets(tx, app.id);
    const secret = secrets.find(({ id }) => id === secretId);
    if (!secret) return false;
    if (secrets.length === 1) throw new FormError('secret', 'This is the only secret. Add a new one first.');
    await tx.deleteFrom('app_secrets').where('id', '=', secretId).execute();
    await recordSecretEvent(tx, { type: 'app.secret_removed', app, secretId }, now);
    const detail = { secret: secretName(secret.hint) };
    await recordAppAudit(actor, tx, { action: 'secret.removed', app, detail }, now);
    return true;
  });
}

/** Locks the rows by writing to them, so that two removals at the same time do not remove both secrets. */
async function lockSecrets(db: Database, appId: string): Promise<void> {
  await db
    .updateTable('app_secrets')
    .set(({ ref }) => ({ slot: ref('slot') }))
    .where('app_id', '=', appId)
    .execute();
}

interface SecretEvent {
  type: 'app.secret_added' | 'app.secret_removed';
  app: Pick<AuditedApp, 'id' | 'ownerBusinessId'>;
  secretId: string;
}

async function recordSecretEvent(db: Database, { type, app, secretId }: SecretEvent, now: number): Promise<void> {
  await recordEvent(db, { type, appId: app.id, businessId: app.ownerBusinessId, data: { secretId } }, now);
}

export async function listSecrets(db: Database, appId: string): Promise<AppSecret[]> {
  return (await selectSecrets(db, appId)).map((row) => ({
    id: row.id,
    hint: row.hint,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }));
}

/** When each of these apps last authenticated, by one query. */
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

/** Records that an app has authenticated with this secret. Of many requests that arrive together, one writes. */
export async function useSecret(db: Database, secretId: string, now: number): Promise<void> {
  await db
    .updateTable('app_secrets')
    .set({ last_used_at: now })
    .where('id', '=', secretId)
    .where(({ eb, or }) => or([eb('last_used_at', 'is', null), eb('last_used_at', '<=', now - LAST_USED_PRECISION)]))
    .execute();
}
