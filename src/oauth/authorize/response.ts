import { lockRole } from '../../accounts/memberships.ts';
import { lockSession } from '../../accounts/sessions.ts';
import { saveExternalApp } from '../../apps/apps.ts';
import type { UserActor } from '../../audit/entries.ts';
import {
  addDecision,
  type Consent,
  findConsent,
  findConsentForShare,
  findConsentForUpdate,
  saveConsent,
} from '../../grants/consents.ts';
import { recordAllowed, recordSilentlyAllowed } from '../../grants/decisions.ts';
import { createGrant, findGrant, type Grant, limitGrants, type NewCode } from '../../grants/grants.ts';
import { scopesAllowedBefore, undecidedScopes } from '../../grants/requested-scopes.ts';
import { type ConnectedFor, canConnectForBusiness, mayConnectForBusiness } from '../../grants/transfers.ts';
import { errorUri, toErrorCharacters } from '../../http/errors.ts';
import type { Keyring } from '../../lib/keyring.ts';
import { commonScopes, type Scopes } from '../../lib/scope-lists.ts';
import { type Database, inTransaction } from '../../storage/storage.ts';
import type { Callback, CallbackError } from '../errors.ts';
import { readScopes } from '../scopes.ts';
import { encodeToken, NO_SCOPE_BITS } from '../tokens.ts';
import { lockPermission, type Permit } from './permission.ts';
import type { AuthorizationRequest } from './request.ts';

interface Authorization {
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

interface CodeDeps {
  db: Database;
  keys: Keyring;
}

/**
 * The user allowed the request on the consent screen. Saves the consent, and returns the same code if it is called twice.
 * Undefined if that code has been used or has expired, if the session has ended, or if the business does not permit it now.
 */
export async function issueCode(
  actor: UserActor,
  { db, keys }: CodeDeps,
  { decision, shown, ...authorization }: Allowed,
  now: number,
): Promise<string | undefined> {
  const { request, businessId, grantId, sessionId } = authorization;
  await inTransaction(db, async (tx) => {
    if (!(await lockSession(tx, sessionId))) return;
    const permit = await lockPermission(tx, { request, userId: actor.id, businessId });
    if (permit(decision.allowed).length < decision.allowed.length) return;
    const connectedFor = await lockConnectedFor(actor, tx, authorization, decision, now);
    if (!connectedFor) return;
    // The consent may have grown since it was compared with the screen.
    const scopes = commonScopes(permit(await scopesToGrant(actor, tx, authorization, decision, now)), shown);
    const { expiresAt } = decision;
    const isFirst = await createGrant(tx, grantOf(actor, authorization, { scopes, connectedFor, expiresAt }), now);
    if (!isFirst) return;
    if (request.app.ownerScope === 'external') await saveExternalApp(tx, request.app, now);
    const parties = { userId: actor.id, appId: request.app.id, businessId };
    await saveConsent(tx, parties, decision, now);
    if (expiresAt !== null) await limitGrants(tx, parties, expiresAt);
    await recordAllowed(actor, tx, { app: request.app, businessId, scopes, connectedFor, expiresAt }, now);
  });
  const grant = await findGrant(db, { grantId, rotation: 0 }, now);
  const isOpen = grant && grant.exchangedAt === null && !grant.inactiveReason && now < grant.codeExpiresAt;
  return isOpen ? codeOf(keys, grant) : undefined;
}

/** Undefined if the connection is for the business, and the user is no longer an owner or admin of it. */
async function lockConnectedFor(
  actor: UserActor,
  tx: Database,
  { request: { app }, businessId }: Authorization,
  decision: Consent,
  now: number,
): Promise<ConnectedFor | undefined> {
  if (!canConnectForBusiness(app)) return decision.connectedFor === 'business' ? undefined : 'user';
  // Before the consent: the removal of a member locks in this order, too.
  const role = await lockRole(tx, { userId: actor.id, businessId });
  const before = await findConsent(tx, { userId: actor.id, appId: app.id, businessId }, now);
  if (addDecision(before, decision).connectedFor !== 'business') return 'user';
  return mayConnectForBusiness(app, role) ? 'business' : undefined;
}

/**
 * At a resource of its own, a client asks for further scopes when a call needs them, and then uses the new token only. So the
 * new grant has what the user allowed before, too. Earlier grants keep what they have: another device may use them.
 */
async function scopesToGrant(
  actor: UserActor,
  tx: Database,
  { request: { app, resource }, businessId }: Authorization,
  decision: Consent,
  now: number,
): Promise<Scopes> {
  if (resource === null) return decision.allowed;
  const before = await findConsentForUpdate(tx, { userId: actor.id, appId: app.id, businessId }, now);
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

/** With `prompt=none`, optional scopes that the user has not decided about are left out. */
export function needsNoScreen(authRequest: AuthorizationRequest, consent: Consent): boolean {
  // RFC 8252 §8.6: any program can present the client_id of a public app.
  if (authRequest.app.isPublic) return false;
  if (authRequest.app.ownerScope === 'platform') return true;
  if (scopesAllowedBefore(authRequest, consent).length === 0) return false;
  return authRequest.prompt === 'none' || undecidedScopes(authRequest, consent).length === 0;
}

/**
 * No consent screen is needed: the app is the platform's own, or the user has allowed the request before. Undefined if
 * the user has withdrawn that consent, the session has ended, or the business has changed its rules, in the meantime.
 */
export async function issueCodeSilently(
  actor: UserActor,
  { db, keys }: CodeDeps,
  authorization: Authorization,
  now: number,
): Promise<string | undefined> {
  const { request, businessId, sessionId } = authorization;
  const grant = await inTransaction(db, async (tx) => {
    if (!(await lockSession(tx, sessionId))) return undefined;
    const { expiresAt, ...allowed } = await findSilentConsent(actor, tx, authorization, now);
    if (allowed.scopes.length === 0) return undefined;
    await recordSilentlyAllowed(actor, tx, { app: request.app, businessId, ...allowed }, now);
    return createGrant(tx, grantOf(actor, authorization, { ...allowed, expiresAt }), now);
  });
  return grant && codeOf(keys, grant);
}

/** The new grant ends when the consent does. */
async function findSilentConsent(
  actor: UserActor,
  db: Database,
  { request, businessId }: Authorization,
  now: number,
): Promise<AllowedScopes> {
  const unlimited = { connectedFor: 'user', expiresAt: null } as const;
  if (request.app.isPublic) return { scopes: [], ...unlimited };
  if (request.app.ownerScope === 'platform') return { scopes: request.scopes, ...unlimited };
  const permit = await lockPermission(db, { request, userId: actor.id, businessId });
  const consent = await findConsentForShare(db, { userId: actor.id, appId: request.app.id, businessId }, now);
  const scopes = scopesAllowedBefore(request, consent);
  const { connectedFor = 'user', expiresAt } = consent;
  return { scopes: permit(scopes).length < scopes.length ? [] : scopes, connectedFor, expiresAt };
}

type AllowedScopes = Pick<Grant, 'scopes' | 'connectedFor' | 'expiresAt'>;

function codeOf(keys: Keyring, { id: grantId, salt, codeExpiresAt: expiresAt }: NewCode): string {
  return encodeToken(keys, salt, { kind: 'code', grantId, rotation: 0, expiresAt, scopeBits: NO_SCOPE_BITS });
}

function grantOf(actor: UserActor, { request, grantId: id, businessId }: Authorization, allowed: AllowedScopes) {
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
