import type { Keyring } from '../lib/keyring.ts';
import type { Storage } from '../storage/database.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { rememberConsent } from './consents.ts';
import { createGrant, findGrant } from './grants.ts';
import { sealToken } from './tokens.ts';

/** Who allows it, and where. */
export interface Allowance {
  /** Chosen before the screen was shown, so that allowing twice allows once. */
  grantId: string;
  userId: string;
  businessId: string;
}

/** The user said so on the consent screen: it is remembered. */
export async function allow(
  { storage, keys }: { storage: Storage; keys: Keyring },
  request: AuthorizationRequest,
  allowance: Allowance,
  now: number,
): Promise<string | undefined> {
  const parties = { userId: allowance.userId, appId: request.app.id, businessId: allowance.businessId };
  await storage.atomically(async (db) => {
    await rememberConsent(db, parties, request.scopes, now);
    await createGrant(db, grantOf(request, allowance), now);
  });
  return findCode({ storage, keys }, allowance.grantId, now);
}

/** The app belongs to the platform, or the user has allowed it before: no one needs to be asked. */
export async function allowSilently(
  { storage, keys }: { storage: Storage; keys: Keyring },
  request: AuthorizationRequest,
  allowance: Allowance,
  now: number,
): Promise<string | undefined> {
  await storage.atomically((db) => createGrant(db, grantOf(request, allowance), now));
  return findCode({ storage, keys }, allowance.grantId, now);
}

/** Undefined once the code has been used or has expired: then the answer was delivered long ago. */
async function findCode({ storage, keys }: { storage: Storage; keys: Keyring }, grantId: string, now: number) {
  const grant = await findGrant(storage.durable, { grantId, rotation: 0 });
  if (!grant || grant.exchangedAt !== null || grant.deadBecause || now >= grant.codeExpiresAt) return undefined;
  const { id, salt, codeExpiresAt: expiresAt } = grant;
  return sealToken(keys, salt, { kind: 'code', grantId: id, rotation: 0, expiresAt, scopes: 0 });
}

function grantOf({ app, scopes, sentRedirectUri, codeChallenge }: AuthorizationRequest, allowance: Allowance) {
  const { grantId: id, userId, businessId } = allowance;
  return { id, appId: app.id, userId, businessId, scopes, redirectUri: sentRedirectUri, codeChallenge };
}
