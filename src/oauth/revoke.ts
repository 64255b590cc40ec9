import { appIdOf } from '../apps/client-ids.ts';
import { ALL_TOKENS } from '../grants/grant.ts';
import { markUsed } from '../grants/grants.ts';
import { revokeByApp } from '../grants/revocation.ts';
import { DAY, HOUR } from '../lib/clock.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import { retentionStep } from '../storage/retention.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { authenticateClient, type ClientCredentials, presentsSecret } from './client-authentication.ts';
import { missingField } from './errors.ts';
import type { RevocationRequest } from './schemas.ts';
import type { TokenDeps } from './token/endpoint.ts';
import {
  type DecodedToken,
  decodeAccessOrRefreshToken,
  findVerifiedToken,
  idOfAccessToken,
  isRevoked,
  type VerifiedToken,
} from './tokens.ts';

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
  else if (!isRevoked(grant, token)) await revokeAccessToken(storage.durable, token, now);
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

/** A token lives at most an hour after its revocation. It must stay revoked even if the clock is set forward and back again. */
const RETENTION = DAY + HOUR;

/**
 * In characters: some 50 tokens. Every request with a token of the rotation reads the list, and within the retry window an app can get and
 * revoke any number.
 */
const MAX_LIST = 1000;

/**
 * Rows exist only for rotations of which an access token was revoked before it expired. Beyond the limit of the list, all of them are
 * revoked. The revocation counts as a use, which is stored in the same commit: a late retry is a replay, after a crash, too.
 */
async function revokeAccessToken(db: Database, token: DecodedToken, now: number): Promise<void> {
  const { grantId, rotation } = token;
  const tokens = idOfAccessToken(token);
  await inTransaction(db, async (tx) => {
    await tx
      .insertInto('revoked_access_tokens')
      .values({ grant_id: grantId, rotation, expires_at: now, listed_at: now, tokens })
      .onConflict((conflict) =>
        conflict
          .columns(['grant_id', 'rotation'])
          .doUpdateSet(({ eb, ref, fn, val }) => ({
            tokens: eb
              .case()
              .when(fn<number>('length', [ref('revoked_access_tokens.tokens')]), '<', MAX_LIST)
              .then(eb(ref('revoked_access_tokens.tokens'), '||', ` ${tokens}`))
              .else(val(ALL_TOKENS))
              .end(),
          }))
          // Also false for null, which a node of 0.2.0 or older writes for all.
          .where('revoked_access_tokens.tokens', '!=', ALL_TOKENS),
      )
      .execute();
    await markUsed(tx, { id: grantId, rotation });
  });
}

export const expiredRevocations = retentionStep(
  'revoked_access_tokens',
  ['grant_id', 'rotation'],
  'expires_at',
  (now) => now - RETENTION,
);
