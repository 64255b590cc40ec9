import type { TokenUses } from '../../grants/token-uses.ts';
import type { Keyring } from '../../lib/keyring.ts';
import type { RateLimit } from '../../lib/rate-limit.ts';
import type { Storage } from '../../storage/storage.ts';
import { authenticateClientWithToken } from '../callers.ts';
import type { ClientCredentials } from '../client-authentication.ts';
import { OAuthError, requireField } from '../errors.ts';
import type { TokenRequest } from '../schemas.ts';
import { decodeToken } from '../tokens.ts';
import { exchangeCode } from './exchange.ts';
import { refresh } from './refresh.ts';
import type { TokenResponse } from './response.ts';

/** What the token, revoke and introspect endpoints are built on. */
export interface TokenDeps {
  storage: Storage;
  keys: Keyring;
  issuer: string;
  retryWindow: number;
  uses: TokenUses;
  limits: { perApp: RateLimit; wrongSecrets: RateLimit };
}

/** POST /api/v1/oauth/token */
export async function answerTokenRequest(
  parts: TokenDeps,
  fields: Partial<TokenRequest>,
  credentials: ClientCredentials,
  now: number,
): Promise<TokenResponse> {
  const type = requireField(fields, 'grant_type');
  const { app, proven } = await authenticateClientWithToken(parts, credentials, openSent(parts, fields), now);
  const { context } = credentials;
  if (type === 'authorization_code') {
    context.grantType = type;
    const code = requireField(fields, 'code');
    const { redirect_uri: redirectUri, code_verifier: codeVerifier } = fields;
    return await exchangeCode(parts, app, { code, proven, redirectUri, codeVerifier, context }, now);
  }
  if (type === 'refresh_token') {
    context.grantType = type;
    const refreshToken = requireField(fields, 'refresh_token');
    return await refresh(parts, app, { refreshToken, proven, scope: fields.scope, context }, now);
  }
  throw new OAuthError(
    'unsupported_grant_type',
    'unsupported_grant_type',
    'grant_type is authorization_code or refresh_token.',
  );
}

function openSent({ keys }: TokenDeps, { grant_type, refresh_token = '', code = '' }: Partial<TokenRequest>) {
  return grant_type === 'refresh_token' ? decodeToken(keys, 'refresh', refresh_token) : decodeToken(keys, 'code', code);
}
