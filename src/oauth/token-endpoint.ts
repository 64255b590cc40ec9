import type { Keyring } from '../lib/keyring.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { Storage } from '../storage/storage.ts';
import { identifyApp, type PresentedCredentials } from './app-authentication.ts';
import { exchangeCode } from './code-exchange.ts';
import { OAuthError } from './errors.ts';
import { requireField } from './fields.ts';
import { refresh } from './refresh.ts';
import type { TokenRequest } from './schemas.ts';
import { proveToken } from './token-proof.ts';
import type { TokenResponse } from './token-response.ts';

/** What the token, revoke and introspect endpoints are built on. */
export interface TokenParts {
  storage: Storage;
  keys: Keyring;
  issuer: string;
  retryWindow: number;
  limits: { perApp: RateLimit; wrongSecrets: RateLimit };
}

/** POST /api/v1/oauth/token */
export async function answerTokenRequest(
  parts: TokenParts,
  fields: Partial<TokenRequest>,
  credentials: PresentedCredentials,
  now: number,
): Promise<TokenResponse> {
  const type = requireField(fields, 'grant_type');
  // At once, since neither answer is needed to ask for the other.
  const [app, proven] = await Promise.all([identifyApp(parts, credentials, now), proveSent(parts, fields)]);
  const { involved } = credentials;
  if (type === 'authorization_code') {
    involved.grantType = type;
    const code = requireField(fields, 'code');
    const { redirect_uri: redirectUri, code_verifier: codeVerifier } = fields;
    return exchangeCode(parts, app, { code, proven, redirectUri, codeVerifier, involved }, now);
  }
  if (type === 'refresh_token') {
    involved.grantType = type;
    const refreshToken = requireField(fields, 'refresh_token');
    return refresh(parts, app, { refreshToken, proven, scope: fields.scope, involved }, now);
  }
  throw new OAuthError(
    'unsupported_grant_type',
    'unsupported_grant_type',
    'grant_type is authorization_code or refresh_token.',
  );
}

async function proveSent({ storage, keys }: TokenParts, fields: Partial<TokenRequest>) {
  const [kind, text = ''] =
    fields.grant_type === 'refresh_token'
      ? (['refresh', fields.refresh_token] as const)
      : (['code', fields.code] as const);
  return proveToken(storage.durable, keys, kind, text);
}
