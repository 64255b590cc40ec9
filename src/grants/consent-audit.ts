import type { App } from '../apps/apps.ts';
import { countRepeat, isRepeat } from '../audit/act-repeats.ts';
import { type Action, type Actor, recordAudit } from '../audit/acts.ts';
import { DAY, HOUR } from '../lib/clock.ts';
import type { Database } from '../storage/storage.ts';
import { formatScopes, type ScopeMask } from './scopes.ts';

/** A user who decides about an app in a business. */
interface Decision {
  userId: string;
  businessId: string;
  actor: Actor;
}

/** The same authorization without a consent screen is in the log once within this time. */
const SILENT_WINDOW = DAY;
const DENIED_WINDOW = HOUR;

export async function recordAllowed(
  db: Database,
  app: App,
  decision: Decision & { scopes: ScopeMask },
  now: number,
): Promise<void> {
  const detail = { scope: formatScopes(decision.scopes) };
  await record(db, app, { ...decision, action: 'grant.allowed', detail }, now);
}

/**
 * Before the grant is created, in its transaction. An app may authorize silently as often as it likes, so that repeats leave no
 * entry, unless the app was disconnected in between.
 */
export async function recordSilentlyAllowed(
  db: Database,
  app: App,
  decision: Decision & { scopes: ScopeMask },
  now: number,
): Promise<void> {
  const scope = formatScopes(decision.scopes);
  const repeat = { key: `${keyOf('grant.allowed', app, decision)} ${scope}`, window: SILENT_WINDOW };
  if ((await isRepeat(db, repeat, now)) && (await hasUnrevokedGrant(db, app, decision))) return;
  // Counting locks the row, so that of several first authorizations at once each sees the grants of those before it.
  const times = await countRepeat(db, repeat, now);
  if (times > 1 && (await hasUnrevokedGrant(db, app, decision))) return;
  const detail = { scope, how: 'without asking' };
  await record(db, app, { ...decision, action: 'grant.allowed', detail }, now);
}

/** Needs a transaction. */
export async function recordDenied(db: Database, app: App, decision: Decision, now: number): Promise<void> {
  const key = keyOf('grant.denied', app, decision);
  if ((await countRepeat(db, { key, window: DENIED_WINDOW }, now)) > 1) return;
  await record(db, app, { ...decision, action: 'grant.denied', detail: {} }, now);
}

async function record(
  db: Database,
  { id, name }: App,
  { actor, businessId, action, detail }: Decision & { action: Action; detail: Record<string, string> },
  now: number,
): Promise<void> {
  await recordAudit(db, { action, actor, businessId, subject: { kind: 'app', id, name }, detail }, now);
}

function keyOf(action: Action, app: App, { userId, businessId }: Decision): string {
  return `${action} ${app.id} ${businessId} ${userId}`;
}

async function hasUnrevokedGrant(db: Database, app: App, { userId, businessId }: Decision): Promise<boolean> {
  const grant = await db
    .selectFrom('grants')
    .select('id')
    .where('business_id', '=', businessId)
    .where('app_id', '=', app.id)
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return grant !== undefined;
}
