import { SECOND } from '../lib/clock.ts';
import type { PresentedCredentials } from './app-authentication.ts';
import { identifyWithToken } from './callers.ts';
import { requireField } from './fields.ts';
import { REFRESH_LIFETIME } from './grants.ts';
import type { IntrospectionRequest } from './schemas.ts';
import { formatScopes } from './scopes.ts';
import type { TokenParts } from './token-endpoint.ts';
import { openEitherToken, type ProvenToken } from './token-proof.ts';
import { ACCESS_LIFETIME } from './token-response.ts';

/** RFC 7662 §2.2. */
type Introspection =
  | { active: false }
  | {
      active: true;
      scope: string;
      client_id: string;
      token_type: 'bearer' | 'refresh_token';
      exp: number;
      iat: number;
      sub: string;
      iss: string;
      business_id: string;
    };

/** POST /api/v1/oauth/introspect: an app learns of its own tokens only; any other text is simply not active. */
export async function answerIntrospection(
  parts: TokenParts,
  fields: Partial<IntrospectionRequest>,
  credentials: PresentedCredentials,
  now: number,
): Promise<Introspection> {
  const token = openEitherToken(parts.keys, fields.token ?? '');
  const { app, proven } = await identifyWithToken(parts, credentials, token, now);
  requireField(fields, 'token');
  const isKnown = proven && proven.grant.appId === app.id && isActive(proven, now);
  if (isKnown) credentials.involved.businessId = proven.grant.businessId;
  return isKnown ? describe(proven, parts.issuer, now) : { active: false };
}

function describe({ token, grant }: ProvenToken, issuer: string, now: number): Introspection {
  const lifetime = token.kind === 'access' ? ACCESS_LIFETIME : REFRESH_LIFETIME;
  return {
    active: true,
    scope: formatScopes(token.kind === 'access' ? token.scopes & grant.scopes : grant.scopes),
    client_id: grant.appId,
    token_type: token.kind === 'access' ? 'bearer' : 'refresh_token',
    exp: token.expiresAt / SECOND,
    iat: Math.floor(Math.min(token.expiresAt - lifetime, now) / SECOND),
    sub: grant.userId,
    iss: issuer,
    business_id: grant.businessId,
  };
}

function isActive({ token, grant }: ProvenToken, now: number): boolean {
  if (grant.deadBecause || now >= token.expiresAt) return false;
  if (token.kind === 'refresh') return token.rotation >= grant.rotation;
  return !grant.accessTokenRevoked;
}
