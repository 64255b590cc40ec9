import { explain } from '../grants/inactive-reasons.ts';
import type { TokenUses } from '../grants/token-uses.ts';
import type { ConnectedFor } from '../grants/transfers.ts';
import { ApiError, type ReasonOf, toErrorCharacters } from '../http/errors.ts';
import { isId } from '../lib/ids.ts';
import type { Keyring } from '../lib/keyring.ts';
import { formatScopes, type Scopes } from '../lib/scope-lists.ts';
import type { RequestContext } from '../request-log/log.ts';
import type { Database } from '../storage/storage.ts';
import { type Resource, resourceMetadataUri } from './resource-indicators.ts';
import { decodeToken, describeUnknownToken, findVerifiedToken, isRevoked, scopesOf } from './tokens.ts';

/** What an access token permits: some scopes, for one user, app and business. */
export interface Access {
  grantId: string;
  /** When the user allowed the app. */
  grantedAt: number;
  userId: string;
  appId: string;
  businessId: string;
  connectedFor: ConnectedFor;
  scopes: Scopes;
  /** The scopes that the user allowed, and that were withdrawn since. */
  withdrawnScopes: Scopes;
  resource: Resource;
}

/** What a request needs to be allowed. */
export interface Target {
  resource: Resource;
  /** Every scope of the call. */
  scopes: Scopes;
}

interface BearerRequest {
  authorization: string | undefined;
  inQuery: boolean;
  target: Target;
  context: RequestContext;
}

interface AccessDeps {
  db: Database;
  keys: Keyring;
  uses: TokenUses;
  issuer: string;
}

/** A 401 names the metadata of the resource (RFC 9728 §5.1), and the scopes of the call. */
export async function readAccess(deps: AccessDeps, request: BearerRequest, now: number): Promise<Access> {
  try {
    return await verifyBearer(deps, request, now);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) addToChallenge(error, deps.issuer, request.target);
    throw error;
  }
}

function addToChallenge({ headers }: ApiError, issuer: string, { resource, scopes }: Target): void {
  const scope = formatScopes(scopes);
  const own = { resource_metadata: resourceMetadataUri(issuer, resource), ...(scope && { scope }) };
  const [, ...parameters] = /^Bearer ?(.*)$/.exec(headers['www-authenticate'] ?? '') ?? [];
  const list = [...parameters.filter(Boolean), ...Object.entries(own).map(([name, value]) => `${name}="${value}"`)];
  headers['www-authenticate'] = `Bearer ${list.join(', ')}`;
}

/** RFC 6750 §2.1 and §3.1. The token is taken from the header and nowhere else. */
async function verifyBearer(
  { db, keys, uses }: AccessDeps,
  { authorization, inQuery, target, context }: BearerRequest,
  now: number,
): Promise<Access> {
  const text = readBearer({ authorization, inQuery });
  const token = decodeToken(keys, 'access', text);
  const verified = token && (await findVerifiedToken(db, token, now));
  if (!verified) {
    const { reason, description } = describeUnknownToken('access', text);
    throw invalidToken(reason, description);
  }
  const { grant } = verified;
  context.appId = grant.appId;
  context.userId = grant.userId;
  context.businessId = grant.businessId;
  if (grant.inactiveReason) throw invalidToken(grant.inactiveReason, explain(grant.inactiveReason));
  if (now >= token.expiresAt) {
    throw invalidToken(
      'access_token_expired',
      'This access token has expired: it lasts one hour. Use the refresh token.',
    );
  }
  rejectOtherResource(grant.resource, target.resource);
  if (isRevoked(grant, token)) {
    throw invalidToken('access_token_revoked', 'The app revoked this access token. Use the refresh token.');
  }
  uses.record(grant, token);
  const { id: grantId, createdAt: grantedAt, userId, appId, businessId, connectedFor } = grant;
  const { withdrawnScopes, resource } = grant;
  const scopes = scopesOf(verified);
  return { grantId, grantedAt, userId, appId, businessId, connectedFor, scopes, withdrawnScopes, resource };
}

/** RFC 8707 §2: a token that a resource received cannot be used by it at another. */
function rejectOtherResource(granted: Resource, served: Resource): void {
  if (granted === served) return;
  throw invalidToken(
    'token_for_other_resource',
    'This token is for another resource of this server. Request one with the resource of this URL.',
  );
}

function readBearer({ authorization = '', inQuery }: { authorization: string | undefined; inQuery: boolean }): string {
  const [, text] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  // RFC 6750 §3.1: a request with no token, or another scheme, gets a challenge without an error code.
  if (text === undefined && !/^Bearer( |$)/i.test(authorization)) throw missingToken();
  if (inQuery) throw tokenInQuery();
  if (text === undefined)
    throw invalidToken('token_malformed', 'The header reads: Authorization: Bearer <access token>.');
  return text;
}

function missingToken(): ApiError {
  const description = 'Send the access token: Authorization: Bearer <access token>.';
  return new ApiError({
    status: 401,
    code: 'unauthorized',
    reason: 'token_missing',
    description,
    headers: bearerChallenge({}),
  });
}

function tokenInQuery(): ApiError {
  const code = 'invalid_request';
  const description = 'Send the access token in the Authorization header only, not in the address.';
  const headers = bearerChallenge({ error: code, error_description: description });
  return new ApiError({ status: 400, code, reason: 'token_in_address', description, headers });
}

/** RFC 6750 §3: without an error if the request had no token. */
function bearerChallenge(parameters: Record<string, string>): Record<string, string> {
  const list = Object.entries(parameters).map(([name, value]) => `${name}="${toErrorCharacters(value)}"`);
  return { 'www-authenticate': ['Bearer', list.join(', ')].join(' ').trim() };
}

/** RFC 6750 §3.1: the token does not work. */
export function invalidToken(reason: ReasonOf<'invalid_token'>, description: string): ApiError {
  const code = 'invalid_token';
  const headers = bearerChallenge({ error: code, error_description: description });
  return new ApiError({ status: 401, code, reason, description, headers });
}

/** RFC 9728 §5.1: the challenge names the metadata here, too, which tells the client where to request more scopes. */
export function requireScope(issuer: string, access: Access, scope: string): void {
  if (access.scopes.includes(scope)) return;
  const code = 'insufficient_scope';
  const description = access.withdrawnScopes.includes(scope)
    ? `This needs the scope ${scope}, which the user or an owner of the business has withdrawn from the app. To request it again, send the user to the authorize endpoint.`
    : `This needs the scope ${scope}, which this token does not have. Request it at the authorize endpoint.`;
  const resource_metadata = resourceMetadataUri(issuer, access.resource);
  const headers = bearerChallenge({ error: code, error_description: description, resource_metadata, scope });
  throw new ApiError({ status: 403, code, reason: code, description, headers });
}

/** The header selects a business and grants nothing. The response does not reveal whether another business exists. */
export function requireBusiness(access: Access, header: string | undefined): string {
  const selected = header?.toLowerCase();
  if (selected === access.businessId) return access.businessId;
  if (selected === undefined || !isId(selected)) {
    throw new ApiError({
      status: 400,
      code: 'invalid_request',
      reason: 'business_id_malformed',
      description: 'Send the header x-business-id once, with the UUID of the business.',
    });
  }
  throw new ApiError({
    status: 403,
    code: 'business_mismatch',
    reason: 'business_mismatch',
    description: 'This token does not act in that business. GET /api/v1/businesses says which one it acts in.',
  });
}
