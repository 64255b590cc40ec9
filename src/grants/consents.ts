import type { App } from '../apps/apps.ts';
import { countRepeat, isRepeat } from '../audit/act-repeats.ts';
import { type Action, type Actor, recordAudit } from '../audit/acts.ts';
import { DAY, HOUR } from '../lib/clock.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { formatScopes, type ScopeMask, scopesBeyond } from './scopes.ts';

/** Between whom it is, and where. */
interface ConsentParties {
  userId: string;
  appId: string;
  businessId: string;
}

/** What a user has answered an app in a business: remembered until the user disconnects the app. */
export interface Consent {
  allowed: ScopeMask;
  /** What could be left out, and was. */
  declined: ScopeMask;
}

/** A consent older than the membership is another one's: whoever leaves a business and returns is asked again. */
export async function findConsent(db: Database, parties: ConsentParties): Promise<Consent> {
  const { rows } = await readConsent(db, parties);
  return fromRow(rows[0]);
}

/** Like `findConsent`, in a transaction: until it is over, the consent cannot be withdrawn. The lock is shared. */
export async function findConsentForShare(db: Database, parties: ConsentParties): Promise<Consent> {
  const { rows } = await readAndHold(db, parties);
  return fromRow(rows[0]);
}

const readConsent = preparedQuery(selectConsent);
const readAndHold = preparedQuery((db, parties: ConsentParties) => selectConsent(db, parties).forShare('consents'));

function selectConsent(db: Database, { userId, appId, businessId }: ConsentParties) {
  return db
    .selectFrom('consents')
    .innerJoin('memberships', (join) =>
      join
        .onRef('memberships.user_id', '=', 'consents.user_id')
        .onRef('memberships.business_id', '=', 'consents.business_id')
        .onRef('memberships.created_at', '<=', 'consents.allowed_at'),
    )
    .select(['consents.scopes', 'consents.declined'])
    .where('consents.user_id', '=', userId)
    .where('consents.app_id', '=', appId)
    .where('consents.business_id', '=', businessId);
}

function fromRow(row: Pick<Row<'consents'>, 'scopes' | 'declined'> | undefined): Consent {
  return { allowed: row?.scopes ?? 0, declined: row?.declined ?? 0 };
}

/**
 * In a transaction. Adds to what was answered before, unless that has been taken back in the meantime; where the two
 * differ, the last word counts.
 */
export async function rememberConsent(db: Database, parties: ConsentParties, answer: Consent, now: number) {
  const isHeld = await holdConsent(db, parties);
  const before = isHeld ? await findConsent(db, parties) : { allowed: 0, declined: 0 };
  const scopes = answer.allowed | scopesBeyond(before.allowed, answer.declined);
  const declined = answer.declined | scopesBeyond(before.declined, answer.allowed);
  const { userId: user_id, appId: app_id, businessId: business_id } = parties;
  await db
    .insertInto('consents')
    .values({ user_id, app_id, business_id, scopes, declined, allowed_at: now })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'app_id', 'business_id']).doUpdateSet(({ eb, ref }) => ({
        scopes: isHeld ? scopes : eb(ref('consents.scopes'), '|', ref('excluded.scopes')),
        declined,
        allowed_at: now,
      })),
    )
    .execute();
}

/**
 * Writing to a row, even what it holds already, makes everyone else who would change it wait. Here it may also be one that
 * `findConsent` leaves out, since it is older than the membership.
 */
async function holdConsent(db: Database, parties: ConsentParties): Promise<boolean> {
  const { numAffectedRows = 0n } = await touchConsent(db, parties);
  return numAffectedRows > 0n;
}

const touchConsent = preparedQuery((db, { userId, appId, businessId }: ConsentParties) =>
  db
    .updateTable('consents')
    .set(({ ref }) => ({ scopes: ref('scopes') }))
    .where('user_id', '=', userId)
    .where('app_id', '=', appId)
    .where('business_id', '=', businessId),
);

/** Of one user, or of everyone in the business. Gives the users whose it was. */
export async function forgetConsents(
  db: Database,
  { appId, businessId, userId }: Omit<ConsentParties, 'userId'> & { userId?: string | undefined },
): Promise<string[]> {
  let query = db.deleteFrom('consents').where('business_id', '=', businessId).where('app_id', '=', appId);
  if (userId !== undefined) query = query.where('user_id', '=', userId);
  return (await query.returning('user_id as userId').execute()).map((forgotten) => forgotten.userId);
}

/** Everyone's, everywhere: whatever was allowed is asked about again. */
export async function forgetEveryConsent(db: Database): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('consents').executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** All that someone allowed in a business, on leaving it. */
export async function forgetConsentsOfMember(
  db: Database,
  { userId, businessId }: Pick<ConsentParties, 'userId' | 'businessId'>,
): Promise<void> {
  await db.deleteFrom('consents').where('user_id', '=', userId).where('business_id', '=', businessId).execute();
}

export async function forgetConsentsOfUser(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('consents').where('user_id', '=', userId).execute();
}

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

/** The scopes of an authorize request. */
interface Asked {
  scopes: ScopeMask;
  /** Those of them that the user may leave out. */
  optionalScopes: ScopeMask;
}

/** What the app cannot do without. */
function requiredScopes({ scopes, optionalScopes }: Asked): ScopeMask {
  return scopesBeyond(scopes, optionalScopes);
}

/** What the user has yet to decide. An optional scope that was once left out is decided; a required one never is by that. */
export function undecidedScopes(asked: Asked, { allowed, declined }: Consent): ScopeMask {
  return scopesBeyond(requiredScopes(asked), allowed) | scopesBeyond(asked.optionalScopes, allowed | declined);
}

/** What may be granted without a question: all that is required and, of the rest, what was allowed. Else nothing. */
export function scopesAllowedBefore(asked: Asked, { allowed }: Consent): ScopeMask {
  return scopesBeyond(requiredScopes(asked), allowed) === 0 ? asked.scopes & allowed : 0;
}

/** The answer of a screen on which these were ticked. What was not on it cannot be had by ticking it. */
export function chooseScopes(asked: Asked, ticked: ScopeMask): Consent {
  const allowed = requiredScopes(asked) | (asked.optionalScopes & ticked);
  return { allowed, declined: scopesBeyond(asked.scopes, allowed) };
}
