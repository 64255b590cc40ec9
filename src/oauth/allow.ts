import type { Keyring } from '../lib/keyring.ts';
import type { Storage } from '../storage/storage.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { rememberConsent, scopesToAskHolding } from './consents.ts';
import { createGrant, findGrant, type Grant } from './grants.ts';
import { sealToken } from './tokens.ts';

/** Who allows it, and where. */
export interface Allowance {
  /** Chosen before the screen was shown, so that allowing twice allows once. */
  grantId: string;
  userId: string;
  businessId: string;
}

interface Parts {
  storage: Storage;
  keys: Keyring;
}

/**
 * The user said so on the consent screen: it is remembered. Undefined if this very answer has been given, and its code
 * used or expired, before.
 */
export async function allow(
  { storage, keys }: Parts,
  request: AuthorizationRequest,
  allowance: Allowance,
  now: number,
): Promise<string | undefined> {
  const { userId, businessId } = allowance;
  await storage.atomically(async (db) => {
    const isFirst = await createGrant(db, grantOf(request, allowance), now);
    if (isFirst) await rememberConsent(db, { userId, appId: request.app.id, businessId }, request.scopes, now);
  });
  const grant = await findGrant(storage.durable, { grantId: allowance.grantId, rotation: 0 });
  const isOpen = grant && grant.exchangedAt === null && !grant.deadBecause && now < grant.codeExpiresAt;
  return isOpen ? codeOf(keys, grant) : undefined;
}

/**
 * The app belongs to the platform, or the user has allowed it before: no one needs to be asked. Undefined if the user
 * has taken that back in this very moment.
 */
export async function allowSilently(
  { storage, keys }: Parts,
  request: AuthorizationRequest,
  allowance: Allowance,
  now: number,
): Promise<string | undefined> {
  const { userId, businessId } = allowance;
  const parties = { userId, appId: request.app.id, businessId };
  const isAllowed = await storage.atomically(async (db) => {
    const isFirstParty = request.app.ownerScope === 'platform';
    if (!isFirstParty && (await scopesToAskHolding(db, parties, request.scopes)) !== 0) return false;
    return createGrant(db, grantOf(request, allowance), now);
  });
  const grant = isAllowed && (await findGrant(storage.durable, { grantId: allowance.grantId, rotation: 0 }));
  return grant ? codeOf(keys, grant) : undefined;
}

/** Derived from the row, so that allowing twice yields the same code twice. */
function codeOf(keys: Keyring, { id, salt, codeExpiresAt }: Grant): string {
  return sealToken(keys, salt, { kind: 'code', grantId: id, rotation: 0, expiresAt: codeExpiresAt, scopes: 0 });
}

function grantOf({ app, scopes, sentRedirectUri, codeChallenge }: AuthorizationRequest, allowance: Allowance) {
  const { grantId: id, userId, businessId } = allowance;
  return { id, appId: app.id, userId, businessId, scopes, redirectUri: sentRedirectUri, codeChallenge };
}
