import { findBusiness } from '../accounts/businesses.ts';
import { findMembership } from '../accounts/memberships.ts';
import { notify } from '../accounts/notices.ts';
import type { App } from '../apps/apps.ts';
import { type Action, recordAudit, type UserActor } from '../audit/entries.ts';
import { countRepeat, isRepeat } from '../audit/repeats.ts';
import { DAY, HOUR } from '../lib/clock.ts';
import { commonScopes, formatScopes, parseScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database } from '../storage/storage.ts';
import { inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';

interface ConsentKey {
  userId: string;
  appId: string;
  businessId: string;
}

/** What a user has allowed an app in a business, kept until the user disconnects the app. */
export interface Consent {
  allowed: Scopes;
  /** Optional scopes that the user left out. */
  declined: Scopes;
  /** For the user, unless it says otherwise. A connection for the business stays one until it is disconnected. */
  connectedFor?: ConnectedFor;
}

/** A consent from before the current membership does not count: a member who left and came back is asked again. */
export async function findConsent(db: Database, key: ConsentKey): Promise<Consent> {
  const { rows } = await readConsent(db, key);
  return fromRow(rows[0]);
}

/** Needs a transaction: until it ends, the consent cannot be withdrawn. The lock is shared. */
export async function findConsentForShare(db: Database, key: ConsentKey): Promise<Consent> {
  const { rows } = await readConsentForShare(db, key);
  return fromRow(rows[0]);
}

/** Needs a transaction: until it ends, the consent can be neither withdrawn nor changed. */
export async function findConsentForUpdate(db: Database, key: ConsentKey): Promise<Consent> {
  return fromRow(await selectConsent(db, key).forUpdate('consents').executeTakeFirst());
}

const readConsent = preparedQuery(selectConsent);
const readConsentForShare = preparedQuery((db, key: ConsentKey) => selectConsent(db, key).forShare('consents'));

function selectConsent(db: Database, { userId, appId, businessId }: ConsentKey) {
  return db
    .selectFrom('consents')
    .innerJoin('memberships', (join) =>
      join
        .onRef('memberships.user_id', '=', 'consents.user_id')
        .onRef('memberships.business_id', '=', 'consents.business_id')
        .onRef('memberships.created_at', '<=', 'consents.allowed_at'),
    )
    .select(['consents.scopes', 'consents.declined', 'consents.connected_for'])
    .where('consents.user_id', '=', userId)
    .where('consents.app_id', '=', appId)
    .where('consents.business_id', '=', businessId);
}

function fromRow(row: Pick<Row<'consents'>, 'scopes' | 'declined' | 'connected_for'> | undefined): Consent {
  if (!row) return { allowed: [], declined: [] };
  return { allowed: parseScopes(row.scopes), declined: parseScopes(row.declined), connectedFor: row.connected_for };
}

/** Needs a transaction. Adds to the earlier consent. */
export async function saveConsent(db: Database, key: ConsentKey, decision: Consent, now: number): Promise<void> {
  await lockConsent(db, key, now);
  const { allowed, declined, connectedFor } = addDecision(await findConsent(db, key), decision);
  const scopes = { scopes: formatScopes(allowed), declined: formatScopes(declined) };
  await db
    .updateTable('consents')
    .set({ ...scopes, connected_for: connectedFor ?? 'user', allowed_at: now })
    .where('user_id', '=', key.userId)
    .where('app_id', '=', key.appId)
    .where('business_id', '=', key.businessId)
    .execute();
}

/** Where the two disagree, the newer decision counts. */
export function addDecision(before: Consent, { allowed, declined, connectedFor }: Consent): Consent {
  const decided = [...allowed, ...declined];
  return {
    connectedFor: before.connectedFor === 'business' ? 'business' : (connectedFor ?? 'user'),
    allowed: [...allowed, ...scopesBeyond(before.allowed, decided)],
    declined: [...declined, ...scopesBeyond(before.declined, decided)],
  };
}

/** Inserts an empty row, or locks the one that exists. */
async function lockConsent(db: Database, { userId, appId, businessId }: ConsentKey, now: number): Promise<void> {
  await db
    .insertInto('consents')
    .values({ user_id: userId, app_id: appId, business_id: businessId, scopes: '', declined: '', allowed_at: now })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'app_id', 'business_id'])
        .doUpdateSet(({ ref }) => ({ scopes: ref('consents.scopes') })),
    )
    .execute();
}

/** Needs a transaction. Of one user, or of everyone in the business. Returns the users. */
export async function forgetConsents(
  db: Database,
  { appId, businessId, userId }: Omit<ConsentKey, 'userId'> & { userId?: string | undefined },
): Promise<string[]> {
  let query = db.deleteFrom('consents').where('business_id', '=', businessId).where('app_id', '=', appId);
  if (userId !== undefined) query = query.where('user_id', '=', userId);
  return (await query.returning('user_id as userId').execute()).map((forgotten) => forgotten.userId);
}

export async function forgetEveryConsent(db: Database): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('consents').executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export async function forgetConsentsOfMember(
  db: Database,
  { userId, businessId }: Pick<ConsentKey, 'userId' | 'businessId'>,
): Promise<void> {
  await db.deleteFrom('consents').where('user_id', '=', userId).where('business_id', '=', businessId).execute();
}

export async function forgetConsentsOfUser(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('consents').where('user_id', '=', userId).execute();
}

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
  { app, businessId, scopes, connectedFor }: Allowed,
  now: number,
): Promise<void> {
  const detail = { scope: formatScopes(scopes), ...describeConnectedFor(connectedFor) };
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

/** The scopes of an authorize request. */
interface RequestedScopes {
  scopes: Scopes;
  /** Those of them that the user may leave out. */
  optionalScopes: Scopes;
}

function requiredScopes({ scopes, optionalScopes }: RequestedScopes): Scopes {
  return scopesBeyond(scopes, optionalScopes);
}

/** The scopes that the user has yet to decide about. Declining counts as a decision only about an optional scope. */
export function undecidedScopes(requested: RequestedScopes, { allowed, declined }: Consent): Scopes {
  const decided = [...allowed, ...commonScopes(requested.optionalScopes, declined)];
  return scopesBeyond(requested.scopes, decided);
}

/** What can be granted without a consent screen. Empty if a required scope has not been allowed before. */
export function scopesAllowedBefore(requested: RequestedScopes, { allowed }: Consent): Scopes {
  const missing = scopesBeyond(requiredScopes(requested), allowed);
  return missing.length === 0 ? commonScopes(requested.scopes, allowed) : [];
}

/** The decision on a screen with these boxes ticked. A box that was not on the screen adds nothing. */
export function chooseScopes(requested: RequestedScopes, ticked: Scopes): Consent {
  const allowed = commonScopes(requested.scopes, [...requiredScopes(requested), ...ticked]);
  return { allowed, declined: scopesBeyond(requested.scopes, allowed) };
}
