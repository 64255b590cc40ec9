import { lockSession } from '../../accounts/sessions.ts';
import type { UserActor } from '../../audit/entries.ts';
import { selectRepeat } from '../../audit/repeats.ts';
import { mayBeFull, selectLast } from '../../grants/connection-limit.ts';
import { type Consent, findConsentForShare, selectConsent } from '../../grants/consents.ts';
import { isSilentRepeat, recordSilentlyAllowed, selectOneUnrevoked, silentRepeat } from '../../grants/decisions.ts';
import { makeRoom } from '../../grants/full-connections.ts';
import { createGrant, createGrantIf } from '../../grants/grants.ts';
import type { GrantRow, NewCode } from '../../grants/new-grants.ts';
import { scopesAllowedBefore, undecidedScopes } from '../../grants/requested-scopes.ts';
import { currentStops, isStopOf, readCounters } from '../../grants/stops.ts';
import { formatScopes, type Scopes } from '../../lib/scope-lists.ts';
import { hashSecret } from '../../lib/secrets.ts';
import { containsRow } from '../../storage/json-object.ts';
import { type Database, inTransaction, pipelineWrites } from '../../storage/storage.ts';
import { lockPermission, permittedScopes, type Rules, selectRules } from './permission.ts';
import type { AuthorizationRequest } from './request.ts';
import { type AllowedScopes, type Authorization, type CodeDeps, codeOf, grantOf } from './response.ts';

/** With `prompt=none`, optional scopes that the user has not decided about are left out. */
export function needsNoScreen(authRequest: AuthorizationRequest, consent: Consent): boolean {
  // RFC 8252 §8.6: any program can present the client_id of a public app.
  if (authRequest.app.isPublic) return false;
  if (authRequest.app.ownerScope === 'platform') return true;
  if (scopesAllowedBefore(authRequest, consent).length === 0) return false;
  return authRequest.prompt === 'none' || undecidedScopes(authRequest, consent).length === 0;
}

interface SilentAuthorization extends Authorization {
  /** As they were read: the rules of the business are undefined if none apply. */
  consent: Consent;
  rules: Rules | undefined;
}

/**
 * No consent screen is needed: the app is the platform's own, or the user has allowed the request before, by this `consent`. Undefined
 * if the consent has changed, the session has ended, or the business has changed its rules, in the meantime.
 */
export async function issueCodeSilently(
  actor: UserActor,
  { db, keys }: CodeDeps,
  silent: SilentAuthorization,
  now: number,
): Promise<string | undefined> {
  const scopes = silentScopes(silent.request, silent.consent);
  if (scopes.length === 0) return undefined;
  const scoped = { ...silent, scopes };
  const repeated = await repeatAuthorization(actor, db, scoped, now);
  const code = repeated ?? (await allowInTransaction(actor, db, scoped, now));
  return code && codeOf(keys, code);
}

interface Scoped extends SilentAuthorization {
  scopes: Scopes;
}

/**
 * Most repeat one of the same day, and write nothing but the grant. On PostgreSQL, those of one event loop iteration are one statement. It
 * locks the session and the consent: whatever ends several grants of a user deletes one of these first. Undefined if something is locked, or
 * has changed since it was read: a transaction then decides.
 */
async function repeatAuthorization(
  actor: UserActor,
  db: Database,
  { consent, rules, scopes, ...authorization }: Scoped,
  now: number,
): Promise<NewCode | undefined> {
  const { request, businessId, sessionId } = authorization;
  const { app } = request;
  if (app.ownerScope === 'platform' || !rules || permittedScopes(rules, scopes).length < scopes.length)
    return undefined;
  const { connectedFor = 'user', expiresAt } = consent;
  const { key: repeatKey, window } = silentRepeat(actor, { app, businessId }, formatScopes(scopes));
  const expected = {
    sessionHash: hashSecret(sessionId),
    allowed: formatScopes(consent.allowed),
    declined: formatScopes(consent.declined),
    rules: JSON.stringify(rules),
    repeatKey,
    repeatedAfter: now - window,
  };
  const grant = grantOf(actor, authorization, { scopes, connectedFor, expiresAt, stops: 0 });
  return createIfUnchanged(db, grant, expected, now);
}

const EXPECTED_TYPES = {
  sessionHash: 'text',
  allowed: 'text',
  declined: 'text',
  rules: 'text',
  repeatKey: 'text',
  repeatedAfter: 'bigint',
} as const;

type Expected = Record<Exclude<keyof typeof EXPECTED_TYPES, 'repeatedAfter'>, string> & { repeatedAfter: number };

const createIfUnchanged = createGrantIf(EXPECTED_TYPES, (db, expected: Expected & GrantRow) => {
  const { user_id: userId, app_id: appId, business_id: businessId, created_at: now } = expected;
  const parties = { userId, appId, businessId };
  const { repeatKey: key, repeatedAfter: endedBy } = expected;
  return (
    selectConsent(db, { ...parties, now })
      .innerJoin('sessions', (join) =>
        join.onRef('sessions.user_id', '=', 'consents.user_id').on('sessions.id_hash', '=', expected.sessionHash),
      )
      .innerJoinLateral(selectRules(db, parties).as('rules'), (join) => join.onTrue())
      .leftJoin('stops as app_stop', (join) => join.on(isStopOf('app_stop', 'consents')))
      .select(currentStops(['app_stop', 'pair_stop', 'user_stop']).as('stops'))
      .where('consents.scopes', '=', expected.allowed)
      .where('consents.declined', '=', expected.declined)
      .where('consents.connected_for', '=', expected.connected_for)
      .where('consents.expires_at', 'is not distinct from', expected.expires_at)
      // What was read has the number of its call, too.
      .where(containsRow(expected.rules, 'rules'))
      .where(({ exists }) => exists(selectRepeat(db, { key, endedBy })))
      .where(({ exists }) => exists(selectOneUnrevoked(db, parties)))
      .where(({ not, exists }) => not(exists(selectLast(db, parties))))
      .forShare(['sessions', 'consents'])
      .skipLocked()
  );
});

async function allowInTransaction(
  actor: UserActor,
  db: Database,
  silent: Scoped,
  now: number,
): Promise<NewCode | undefined> {
  const { created } = await inTransaction(db, (tx) => allowSilently(actor, tx, silent, now));
  return created;
}

/** On PostgreSQL, all locks and reads are sent at once, and so is the grant with the commit. */
async function allowSilently(actor: UserActor, tx: Database, { scopes, ...silent }: Scoped, now: number) {
  const { request, businessId, sessionId } = silent;
  const decision = { app: request.app, businessId };
  const parties = { appId: request.app.id, businessId, userId: actor.id };
  const [counters, isSignedIn, allowed, isFull, isRepeat] = await Promise.all([
    readCounters(tx, parties),
    lockSession(tx, sessionId),
    findSilentConsent(actor, tx, silent, now),
    mayBeFull(tx, parties),
    isSilentRepeat(actor, tx, { ...decision, scopes }, now),
  ]);
  if (!isSignedIn || formatScopes(allowed.scopes) !== formatScopes(scopes)) return { created: undefined };
  if (!isRepeat) await recordSilentlyAllowed(actor, tx, { ...decision, ...allowed }, now);
  if (isFull) await makeRoom(tx, parties, now);
  const created = createGrant(tx, grantOf(actor, silent, { ...allowed, stops: counters.ofGrant }), now);
  await pipelineWrites(tx, [created]);
  return { created };
}

function silentScopes(request: AuthorizationRequest, consent: Consent): Scopes {
  if (request.app.isPublic) return [];
  return request.app.ownerScope === 'platform' ? request.scopes : scopesAllowedBefore(request, consent);
}

/** The new grant ends when the consent does. */
async function findSilentConsent(
  actor: UserActor,
  db: Database,
  { request, businessId }: Authorization,
  now: number,
): Promise<AllowedScopes> {
  const { app } = request;
  if (app.ownerScope === 'platform') return { scopes: request.scopes, connectedFor: 'user', expiresAt: null };
  const [permit, consent] = await Promise.all([
    lockPermission(db, { request, userId: actor.id, businessId }),
    findConsentForShare(db, { userId: actor.id, appId: app.id, businessId }, now),
  ]);
  const scopes = silentScopes(request, consent);
  const { connectedFor = 'user', expiresAt } = consent;
  return { scopes: permit(scopes).length < scopes.length ? [] : scopes, connectedFor, expiresAt };
}
