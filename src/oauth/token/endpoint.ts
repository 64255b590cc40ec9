import type { TokenUses } from '../../grants/token-uses.ts';
import type { Keyring } from '../../lib/keyring.ts';
import type { RateLimit } from '../../lib/rate-limit.ts';
import type { Storage } from '../../storage/storage.ts';
import { authenticateClient, type ClientCredentials } from '../client-authentication.ts';
import { missingField, OAuthError } from '../errors.ts';
import type { TokenRequest } from '../schemas.ts';
import { decodeToken, type TokenResponse } from '../tokens.ts';
import { exchangeCode } from './exchange.ts';
import { refreshTokens } from './refresh.ts';

/** The dependencies of the token, revoke and introspect endpoints. */
export interface TokenDeps {
  storage: Storage;
  keys: Keyring;
  issuer: string;
  /** How long a spent refresh token gets the same response in any case, in milliseconds. */
  retryWindow: number;
  uses: TokenUses;
  /** The ids of first-party apps that may introspect the access tokens of every app. */
  introspectionClients: ReadonlySet<string>;
  limits: { perApp: RateLimit; wrongSecrets: RateLimit };
}

/** POST /api/v1/oauth/token */
export async function respondToTokenRequest(
  deps: TokenDeps,
  fields: Partial<TokenRequest>,
  credentials: ClientCredentials,
  now: number,
): Promise<TokenResponse> {
  const { grant_type: grantType, refresh_token: refreshToken, code, resource } = fields;
  const { context } = credentials;
  if (grantType === undefined) throw missingField('grant_type');
  const token =
    grantType === 'refresh_token'
      ? decodeToken(deps.keys, 'refresh', refreshToken ?? '')
      : decodeToken(deps.keys, 'code', code ?? '');
  const { client, verified } = await authenticateClient(deps, credentials, token, now);
  if (grantType === 'refresh_token') {
    context.grantType = grantType;
    if (refreshToken === undefined) throw missingField('refresh_token');
    return await refreshTokens(deps, client, { refreshToken, verified, scope: fields.scope, resource, context }, now);
  }
  if (grantType === 'authorization_code') {
    context.grantType = grantType;
    if (code === undefined) throw missingField('code');
    const { redirect_uri: redirectUri, code_verifier: codeVerifier } = fields;
    return await exchangeCode(deps, client, { code, verified, redirectUri, codeVerifier, resource, context }, now);
  }
  throw new OAuthError(
    'unsupported_grant_type',
    'unsupported_grant_type',
    'grant_type must be authorization_code or refresh_token.',
  );
}
