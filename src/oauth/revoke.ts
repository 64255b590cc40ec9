import { appIdOf } from '../apps/client-ids.ts';
import { revokeByApp } from '../grants/revocation.ts';
import { DAY } from '../lib/clock.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import { retentionStep } from '../storage/retention.ts';
import type { Database } from '../storage/storage.ts';
import { authenticateClient, type ClientCredentials, presentsSecret } from './client-authentication.ts';
import { missingField } from './errors.ts';
import type { RevocationRequest } from './schemas.ts';
import type { TokenDeps } from './token/endpoint.ts';
import { type DecodedToken, decodeAccessOrRefreshToken, findVerifiedToken, type VerifiedToken } from './tokens.ts';

/** POST /api/v1/oauth/revoke */
export async function respondToRevocation(
  deps: TokenDeps,
  fields: Partial<RevocationRequest>,
  credentials: ClientCredentials,
  now: number,
): Promise<Record<string, never>> {
  if (fields.token === undefined) throw missingField('token');
  const token = decodeAccessOrRefreshToken(deps.keys, fields.token);
  const isAuthenticated = presentsSecret(credentials);
  const { client, verified } = isAuthenticated
    ? await authenticateClient(deps, credentials, token, now)
    : { client: undefined, verified: token && (await findVerifiedToken(deps.storage.durable, token, now)) };
  const named = credentials.clientId === undefined ? undefined : appIdOf(credentials.clientId);
  const presented = { appId: client?.id ?? named, isAuthenticated, verified, address: credentials.address };
  const grant = await revokeToken(deps, presented, now);
  if (grant) Object.assign(credentials.context, { appId: grant.appId, businessId: grant.businessId });
  return {};
}

/**
 * RFC 7009 §2.1. Possession of the token is enough. A request that also names an app can revoke only the tokens of that
 * app. An unknown or expired token, or one of another app, changes nothing; the response is the same.
 */
async function revokeToken({ storage, limits, uses }: TokenDeps, presented: PresentedToken, now: number) {
  const { appId, isAuthenticated, verified, address } = presented;
  if (!verified || !isRevocable(verified, appId, now)) return undefined;
  const { token, grant } = verified;
  // An authenticated request has been counted already. Others share no counter with it, nor with those of other networks.
  if (!isAuthenticated) await limits.perApp.count(`${grant.appId} ${networkOf(address)}`);
  if (token.kind === 'refresh') await revokeByApp(storage.durable, { grantId: grant.id, address }, now);
  else await revokeAccessToken(storage.durable, token);
  uses.record(grant, token);
  return grant;
}

interface PresentedToken {
  /** Undefined if the request names no app. */
  appId: string | undefined;
  /** Whether the client presented its secret. */
  isAuthenticated: boolean;
  verified: VerifiedToken | undefined;
  address: string;
}

function isRevocable({ token, grant }: VerifiedToken, appId: string | undefined, now: number): boolean {
  return now < token.expiresAt && (appId === undefined || appId === grant.appId);
}

/** Much longer than the lifetime of a token: it must stay revoked even if the clock is set forward and back again. */
const RETENTION = DAY;

/** Rows exist only for access tokens that are revoked before they expire, and are removed a day after the expiry. */
async function revokeAccessToken(db: Database, { grantId, rotation, expiresAt }: DecodedToken): Promise<void> {
  await db
    .insertInto('revoked_access_tokens')
    .values({ grant_id: grantId, rotation, expires_at: expiresAt })
    // After a lost commit, two access tokens can have the same rotation: the row keeps the later expiry.
    .onConflict((conflict) =>
      conflict
        .columns(['grant_id', 'rotation'])
        .doUpdateSet({ expires_at: expiresAt })
        .where('revoked_access_tokens.expires_at', '<', expiresAt),
    )
    .execute();
}

export const expiredRevocations = retentionStep(
  'revoked_access_tokens',
  ['grant_id', 'rotation'],
  'expires_at',
  (now) => now - RETENTION,
);
