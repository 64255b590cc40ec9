import { findBusiness } from '../accounts/businesses.ts';
import { findMembership } from '../accounts/memberships.ts';
import { addNotice, isFirstNotice } from '../accounts/notices.ts';
import type { App } from '../apps/apps.ts';
import { type Action, recordAudit, type UserActor } from '../audit/entries.ts';
import { countRepeat, isRepeat } from '../audit/repeats.ts';
import { DAY, HOUR } from '../lib/clock.ts';
import { formatScopes, type Scopes } from '../lib/scope-lists.ts';
import type { NoticeValues } from '../mail/notice-texts.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { type GrantParties, selectUnrevokedBetween } from './status.ts';

/** A user's decision about an app in a business, for the audit log. */
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

/** Needs a transaction. Counts the notice, and returns the values of the first within an hour. */
export async function countConnectedNotice(actor: UserActor, tx: Database, { app, businessId }: Decision, now: number) {
  const cause = `${actor.id} ${app.id} ${businessId}`;
  const [business, isFirst] = await Promise.all([
    findBusiness(tx, businessId),
    isFirstNotice(tx, { kind: 'app_connected', cause }, now),
  ]);
  return isFirst ? { app: app.name, business: business?.name ?? '', businessId } : undefined;
}

interface AllowedOnScreen extends Allowed {
  expiresAt: number | null;
  /** From `countConnectedNotice`. */
  notice: NoticeValues<'app_connected'> | undefined;
}

/** Needs a transaction. */
export async function recordAllowed(
  actor: UserActor,
  tx: Database,
  { app, businessId, scopes, connectedFor, expiresAt, notice }: AllowedOnScreen,
  now: number,
): Promise<void> {
  const until = expiresAt !== null && { until: new Date(expiresAt).toISOString() };
  const detail = { scope: formatScopes(scopes), ...describeConnectedFor(connectedFor), ...until };
  const entry = { action: 'grant.allowed', actor, businessId, subject: subjectOf(app), detail } as const;
  await Promise.all([
    recordAudit(tx, entry, now),
    notice && addNotice(tx, actor.id, { kind: 'app_connected', values: notice }, now),
  ]);
}

/**
 * Whether an authorization without a screen repeats one of the same day, and the app was not disconnected in between. An app may
 * authorize as often as it likes: a repeat leaves no audit entry.
 */
export async function isSilentRepeat(
  actor: UserActor,
  tx: Database,
  { scopes, ...decision }: Decision & { scopes: Scopes },
  now: number,
): Promise<boolean> {
  const repeat = silentRepeat(actor, decision, formatScopes(scopes));
  const both = await Promise.all([isRepeat(tx, repeat, now), hasUnrevokedGrant(actor, tx, decision)]);
  return both.every(Boolean);
}

/** The key of the repetition, and how long it counts. */
export function silentRepeat(actor: UserActor, decision: Decision, scope: string) {
  return { key: `${keyOf('grant.allowed', actor, decision)} ${scope}`, window: SILENT_WINDOW };
}

/** Needs a transaction, before the grant is created in it; not for a repeat. */
export async function recordSilentlyAllowed(
  actor: UserActor,
  tx: Database,
  { scopes, connectedFor, ...decision }: Allowed,
  now: number,
): Promise<void> {
  const scope = formatScopes(scopes);
  // Counting locks the row: of several first authorizations at once, each sees the grants of those before it.
  const times = await countRepeat(tx, silentRepeat(actor, decision, scope), now);
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
  return (await readUnrevoked(db, { appId: app.id, businessId, userId: actor.id })).rows.length > 0;
}

const readUnrevoked = preparedQuery(selectOneUnrevoked);

export function selectOneUnrevoked(db: Database, { appId, businessId, userId }: Required<GrantParties>) {
  // A literal: SQLite would plan a parameter again for each call.
  return selectUnrevokedBetween(db, { appId, businessId, userId }).limit((eb) => eb.lit(1));
}
