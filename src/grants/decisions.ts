import { findBusiness } from '../accounts/businesses.ts';
import { findMembership } from '../accounts/memberships.ts';
import { notify } from '../accounts/notices.ts';
import type { App } from '../apps/apps.ts';
import { type Action, recordAudit, type UserActor } from '../audit/entries.ts';
import { countRepeat, isRepeat } from '../audit/repeats.ts';
import { DAY, HOUR } from '../lib/clock.ts';
import { formatScopes, type Scopes } from '../lib/scope-lists.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import { type Database, inTransaction } from '../storage/storage.ts';

/** Of a user, about an app in a business, for the audit log. */
interface Decision {
  app: App;
  businessId: string;
}

interface Allowed extends Decision {
  scopes: Scopes;
  connectedFor: ConnectedFor;
}

/** A repeated authorization without a consent screen leaves one audit entry within this time. */
const SILENT_WINDOW = DAY;
const DENIED_WINDOW = HOUR;

/** Needs a transaction. */
export async function recordAllowed(
  actor: UserActor,
  tx: Database,
  { app, businessId, scopes, connectedFor, expiresAt }: Allowed & { expiresAt: number | null },
  now: number,
): Promise<void> {
  const until = expiresAt !== null && { until: new Date(expiresAt).toISOString() };
  const detail = { scope: formatScopes(scopes), ...describeConnectedFor(connectedFor), ...until };
  await recordAudit(tx, { action: 'grant.allowed', actor, businessId, subject: subjectOf(app), detail }, now);
  const values = { app: app.name, business: (await findBusiness(tx, businessId))?.name ?? '' };
  const cause = `${actor.id} ${app.id} ${businessId}`;
  await notify(tx, [actor.id], { kind: 'app_connected', values, cause }, now);
}

/**
 * Needs a transaction, before the grant is created in it. An app may authorize silently as often as it likes: a repeat
 * leaves no audit entry, unless the app was disconnected in between.
 */
export async function recordSilentlyAllowed(
  actor: UserActor,
  tx: Database,
  { scopes, connectedFor, ...decision }: Allowed,
  now: number,
): Promise<void> {
  const scope = formatScopes(scopes);
  const repeat = { key: `${keyOf('grant.allowed', actor, decision)} ${scope}`, window: SILENT_WINDOW };
  if ((await isRepeat(tx, repeat, now)) && (await hasUnrevokedGrant(actor, tx, decision))) return;
  // Counting locks the row: of several first authorizations at once, each sees the grants of those before it.
  const times = await countRepeat(tx, repeat, now);
  if (times > 1 && (await hasUnrevokedGrant(actor, tx, decision))) return;
  const { app, businessId } = decision;
  const detail = { scope, how: 'without asking', ...describeConnectedFor(connectedFor) };
  await recordAudit(tx, { action: 'grant.allowed', actor, businessId, subject: subjectOf(app), detail }, now);
}

/** The user chose Deny. Nothing is saved but the audit entry, and only for a member of the business. */
export async function denyApp(actor: UserActor, db: Database, decision: Decision, now: number): Promise<void> {
  const { app, businessId } = decision;
  if (!(await findMembership(db, actor.id, businessId))) return;
  const repeat = { key: keyOf('grant.denied', actor, decision), window: DENIED_WINDOW };
  await inTransaction(db, async (tx) => {
    if ((await countRepeat(tx, repeat, now)) > 1) return;
    await recordAudit(tx, { action: 'grant.denied', actor, businessId, subject: subjectOf(app), detail: {} }, now);
  });
}

function describeConnectedFor(connectedFor: ConnectedFor): Record<string, string> {
  return connectedFor === 'business' ? { connected_for: 'the business' } : {};
}

function subjectOf({ id, name }: App) {
  return { kind: 'app', id, name } as const;
}

function keyOf(action: Action, actor: UserActor, { app, businessId }: Decision): string {
  return `${action} ${app.id} ${businessId} ${actor.id}`;
}

async function hasUnrevokedGrant(actor: UserActor, db: Database, { app, businessId }: Decision): Promise<boolean> {
  const grant = await db
    .selectFrom('grants')
    .select('id')
    .where('business_id', '=', businessId)
    .where('app_id', '=', app.id)
    .where('user_id', '=', actor.id)
    .where('revoked_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return grant !== undefined;
}
