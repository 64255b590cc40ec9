import { REFRESH_LIFETIME } from '../grants/lifetimes.ts';
import type { ConnectedFor } from '../grants/transfers.ts';
import { SECOND } from '../lib/clock.ts';
import { formatScopes } from '../lib/scope-lists.ts';
import type { RequestContext } from '../request-log/log.ts';
import {
  type AuthenticatedClient,
  authenticateConfidentialClient,
  type ClientCredentials,
} from './client-authentication.ts';
import { missingField } from './errors.ts';
import { resourceUri } from './resource-indicators.ts';
import type { IntrospectionRequest } from './schemas.ts';
import type { TokenDeps } from './token/endpoint.ts';
import { ACCESS_LIFETIME, decodeAccessOrRefreshToken, isRevoked, scopesOf, type VerifiedToken } from './tokens.ts';

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
      grant_expires_at?: number;
      sub: string;
      iss: string;
      business_id: string;
      connected_for: ConnectedFor;
      aud?: string;
    };

/**
 * POST /api/v1/oauth/introspect. An app can introspect its own tokens only. A first-party app in INTROSPECTION_CLIENTS can
 * introspect the access tokens of every app: it protects the platform's own API. Any other text is not active.
 */
export async function respondToIntrospection(
  deps: TokenDeps,
  fields: Partial<IntrospectionRequest>,
  credentials: ClientCredentials,
  now: number,
): Promise<Introspection> {
  const token = decodeAccessOrRefreshToken(deps.keys, fields.token ?? '');
  const { client, verified } = await authenticateConfidentialClient(deps, credentials, token, now);
  if (fields.token === undefined) throw missingField('token');
  if (!verified || !canIntrospect(deps, client, verified) || !isActive(verified, now)) return { active: false };
  credentials.context.businessId = verified.grant.businessId;
  if (verified.token.kind === 'access') deps.uses.record(verified.grant, verified.token);
  if (readsAllTokens(deps, client)) countUse(credentials.context, verified, fields.scope);
  return describe(verified, deps.issuer, now);
}

function canIntrospect(deps: TokenDeps, client: AuthenticatedClient, { token, grant }: VerifiedToken): boolean {
  return grant.appId === client.id || (readsAllTokens(deps, client) && token.kind === 'access');
}

function readsAllTokens({ introspectionClients }: TokenDeps, client: AuthenticatedClient): boolean {
  return client.isFirstParty && introspectionClients.has(client.id);
}

/** An introspection for the platform's API that names a scope of the token counts as a use of this scope by the token's app. */
function countUse(context: RequestContext, verified: VerifiedToken, scope: string | undefined): void {
  if (scope === undefined || verified.token.kind !== 'access' || !scopesOf(verified).includes(scope)) return;
  context.scope = scope;
  context.userId = verified.grant.userId;
  context.scopeUsedBy = verified.grant.appId;
}

function describe(verified: VerifiedToken, issuer: string, now: number): Introspection {
  const { token, grant } = verified;
  return {
    active: true,
    scope: formatScopes(token.kind === 'access' ? scopesOf(verified) : grant.scopes),
    client_id: grant.clientId,
    token_type: token.kind === 'access' ? 'bearer' : 'refresh_token',
    ...describeLifetime(verified, now),
    sub: grant.userId,
    iss: issuer,
    business_id: grant.businessId,
    connected_for: grant.connectedFor,
    ...(grant.resource !== null && { aud: resourceUri(issuer, grant.resource) }),
  };
}

/**
 * The expiry in a token is rounded up to a whole second, so the computed time of issue can be up to a second in the future.
 * Clients may reject such an `iat`, so `iat` and `exp` are then one second less.
 */
function describeLifetime({ token: { kind, expiresAt }, grant }: VerifiedToken, now: number) {
  const lifetime = kind === 'access' ? ACCESS_LIFETIME : REFRESH_LIFETIME;
  const issuedAt = expiresAt - lifetime;
  const iat = (issuedAt > now ? issuedAt - SECOND : issuedAt) / SECOND;
  const exp = iat + lifetime / SECOND;
  if (grant.expiresAt === null) return { exp, iat };
  const grant_expires_at = Math.floor(grant.expiresAt / SECOND);
  return { exp: Math.min(exp, grant_expires_at), iat, grant_expires_at };
}

function isActive({ token, grant }: VerifiedToken, now: number): boolean {
  if (grant.inactiveReason || now >= token.expiresAt) return false;
  if (token.kind === 'refresh') return token.rotation >= grant.rotation;
  return !isRevoked(grant, token);
}
