import { lockRole, type Role } from '../../accounts/memberships.ts';
import { lockSession } from '../../accounts/sessions.ts';
import { type App, saveExternalApp } from '../../apps/apps.ts';
import type { UserActor } from '../../audit/entries.ts';
import { limitGrants } from '../../grants/connection-grants.ts';
import { mayBeFull } from '../../grants/connection-limit.ts';
import { addDecision, type Consent, changeConsent, lockConsent } from '../../grants/consents.ts';
import { countConnectedNotice, recordAllowed } from '../../grants/decisions.ts';
import { type ExternalBounds, lockExternal, rejectBeyondBounds } from '../../grants/external-connections.ts';
import { makeRoom } from '../../grants/full-connections.ts';
import { confirmGrant, createGrant, findGrant, type Grant } from '../../grants/grants.ts';
import type { NewCode, NewGrant } from '../../grants/new-grants.ts';
import { readCounters } from '../../grants/stops.ts';
import { type ConnectedFor, canConnectForBusiness, mayConnectForBusiness } from '../../grants/transfers.ts';
import { errorUri, toErrorCharacters } from '../../http/errors.ts';
import type { Keyring } from '../../lib/keyring.ts';
import { commonScopes, type Scopes } from '../../lib/scope-lists.ts';
import { type Database, inTransaction, pipelineWrites } from '../../storage/storage.ts';
import type { Callback, CallbackError } from '../errors.ts';
import { readScopes } from '../scopes.ts';
import { encodeToken, NO_SCOPE_BITS } from '../tokens.ts';
import { lockPermission, type Permit } from './permission.ts';
import type { AuthorizationRequest } from './request.ts';

export interface Authorization {
  request: AuthorizationRequest;
  /** Chosen before the screen is shown, so that a second click on Allow finds the grant of the first. */
  grantId: string;
  /** Locked while the grant is created: a password reset ends the session and then every grant. */
  sessionId: string;
  businessId: string;
}

interface Allowed extends Authorization {
  decision: Consent;
  /** The scopes on the screen. */
  shown: Scopes;
}

export interface CodeDeps {
  db: Database;
  keys: Keyring;
}

/**
 * The user allowed the request on the consent screen. Saves the consent, and returns the same code if it is called twice.
 * Undefined if that code has been used or has expired, if the session has ended, or if the business does not permit it now. Throws
 * `ExternalBoundReached`.
 */
export async function issueCode(
  actor: UserActor,
  { db, keys, bounds }: CodeDeps & { bounds: ExternalBounds },
  allowed: Allowed,
  now: number,
): Promise<string | undefined> {
  const allow = (tx: Database) => allowOnScreen(actor, tx, { ...allowed, bounds }, now);
  const { created } = await inTransaction(db, allow).catch(ignoreNotAllowed);
  const code = await created;
  if (code) return codeOf(keys, code);
  const grant = await findGrant(db, { grantId: allowed.grantId, rotation: 0 }, now);
  const isOpen = grant && grant.exchangedAt === null && !grant.inactiveReason && now < grant.codeExpiresAt;
  if (!isOpen) return undefined;
  await confirmGrant(db, grant.id);
  return codeOf(keys, grant);
}

/** Rolls back. */
class NotAllowed extends Error {}

function ignoreNotAllowed(error: unknown): { created: undefined } {
  if (error instanceof NotAllowed) return { created: undefined };
  throw error;
}

/**
 * Two round trips on PostgreSQL, without those for an external app: all locks and reads are sent at once, and so are all writes with the
 * commit.
 */
async function allowOnScreen(
  actor: UserActor,
  tx: Database,
  { decision, shown, bounds, ...authorization }: Allowed & { bounds: ExternalBounds },
  now: number,
) {
  const { request, businessId, grantId } = authorization;
  const { app } = request;
  const { expiresAt } = decision;
  const parties = { userId: actor.id, appId: app.id, businessId };
  const isExternal = app.ownerScope === 'external';
  if (isExternal) await lockExternal(tx, parties);
  // In this order: the removal of a member locks the membership before the consent, too.
  const [counters, isSignedIn, permit, role, before, isFull, earlier, notice] = await Promise.all([
    readCounters(tx, parties),
    lockSession(tx, authorization.sessionId),
    lockPermission(tx, { request, userId: actor.id, businessId }),
    canConnectForBusiness(app) ? lockRole(tx, parties) : undefined,
    lockConsent(tx, parties, now),
    mayBeFull(tx, parties),
    findGrant(tx, { grantId, rotation: 0 }, now),
    countConnectedNotice(actor, tx, { app, businessId }, now),
  ]);
  const connectedFor = connectedForOf(app, { before, decision, role });
  const isPermitted = permit(decision.allowed).length === decision.allowed.length;
  if (!isSignedIn || !isPermitted || !connectedFor || earlier) throw new NotAllowed();
  if (isExternal && before.allowed.length === 0) await rejectBeyondBounds(tx, parties, bounds, now);
  // The consent may have grown since it was compared with the screen.
  const scopes = commonScopes(permit(scopesToGrant(request, before, decision)), shown);
  if (isExternal) await saveExternalApp(tx, app, now);
  if (isFull) await makeRoom(tx, parties, now);
  const grant = grantOf(actor, authorization, { scopes, connectedFor, expiresAt, stops: counters.ofGrant });
  const created = createGrant(tx, grant, now);
  await pipelineWrites(tx, [
    created,
    changeConsent(tx, parties, { ...addDecision(before, decision), stops: counters.ofConsent, isExternal }, now),
    ...(expiresAt === null ? [] : [limitGrants(tx, parties, expiresAt)]),
    recordAllowed(actor, tx, { app, businessId, scopes, connectedFor, expiresAt, notice }, now),
  ]);
  return { created };
}

/** Undefined if the connection is for the business, and the user is no longer an owner or admin of it. */
function connectedForOf(
  app: App,
  { before, decision, role }: { before: Consent; decision: Consent; role: Role | undefined },
): ConnectedFor | undefined {
  if (!canConnectForBusiness(app)) return decision.connectedFor === 'business' ? undefined : 'user';
  if (addDecision(before, decision).connectedFor !== 'business') return 'user';
  return mayConnectForBusiness(app, role) ? 'business' : undefined;
}

/**
 * At a resource of its own, a client asks for further scopes when a call needs them, and then uses the new token only. So the
 * new grant has what the user allowed before, too. Earlier grants keep what they have: another device may use them.
 */
function scopesToGrant({ app, resource }: AuthorizationRequest, before: Consent, decision: Consent): Scopes {
  if (resource === null) return decision.allowed;
  return readScopes(commonScopes(addDecision(before, decision).allowed, app.allowedScopes)).scopes;
}

/** The scopes that Allow can grant: those of the request, and those that `scopesToGrant` adds. The screen lists them all. */
export function scopesToShow(
  { app, scopes, resource }: AuthorizationRequest,
  { allowed }: Consent,
  permit: Permit,
): Scopes {
  if (resource === null) return scopes;
  return readScopes([...scopes, ...permit(commonScopes(allowed, app.allowedScopes))]).scopes;
}

export type AllowedScopes = Pick<Grant, 'scopes' | 'connectedFor' | 'expiresAt'>;

type AllowedGrant = AllowedScopes & Pick<NewGrant, 'stops'>;

export function codeOf(keys: Keyring, { id: grantId, salt, codeExpiresAt: expiresAt }: NewCode): string {
  return encodeToken(keys, salt, { kind: 'code', grantId, rotation: 0, expiresAt, scopeBits: NO_SCOPE_BITS });
}

export function grantOf(actor: UserActor, { request, grantId: id, businessId }: Authorization, allowed: AllowedGrant) {
  const { app, sentRedirectUri: redirectUri, codeChallenge, resource } = request;
  return { id, appId: app.id, userId: actor.id, businessId, ...allowed, resource, redirectUri, codeChallenge };
}

/** RFC 6749 §4.1.2. A query of the redirect URI is kept (§3.1.2). */
export function codeLocation(callback: Callback, code: string, issuer: string): string {
  return locationOf(callback, new URLSearchParams({ code }), issuer);
}

export function errorLocation({ callback, error }: CallbackError, issuer: string): string {
  const { code, reason, message } = error;
  const parameters = new URLSearchParams({
    error: code,
    error_description: toErrorCharacters(message),
    error_uri: errorUri(issuer, code, reason),
    reason,
  });
  return locationOf(callback, parameters, issuer);
}

function locationOf({ redirectUri, state }: Callback, parameters: URLSearchParams, issuer: string): string {
  if (state !== undefined) parameters.append('state', '');
  // `state` is encoded already. `iss` is RFC 9207.
  const query = `${parameters}${state ?? ''}&${new URLSearchParams({ iss: issuer })}`;
  return `${redirectUri}${separatorAfter(redirectUri)}${query}`;
}

function separatorAfter(redirectUri: string): string {
  if (!redirectUri.includes('?')) return '?';
  return /[?&]$/.test(redirectUri) ? '' : '&';
}
