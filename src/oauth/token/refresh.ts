import type { AuthenticatedClient } from '../../apps/proving.ts';
import { findGrant, type Grant, revokeGrant, rotate } from '../../grants/grants.ts';
import { explain } from '../../grants/inactive-reasons.ts';
import type { TokenUses } from '../../grants/token-uses.ts';
import type { Keyring } from '../../lib/keyring.ts';
import { formatScopes, parseScopes, type Scopes, scopesBeyond } from '../../lib/scope-lists.ts';
import type { RequestContext } from '../../request-log/request-context.ts';
import type { Storage } from '../../storage/storage.ts';
import { OAuthError } from '../errors.ts';
import { readScopes } from '../scopes.ts';
import { unknownToken, type VerifiedToken, verifyToken } from '../tokens.ts';
import { issueTokens, type TokenResponse } from './response.ts';

interface Refresh {
  refreshToken: string;
  /** What is known of the token, if it is one of ours. */
  proven: VerifiedToken | undefined;
  scope: string | undefined;
  context: RequestContext;
}

interface RefreshParts {
  storage: Storage;
  keys: Keyring;
  /** How long a spent refresh token gets the same response in any case, in milliseconds. */
  retryWindow: number;
  uses: TokenUses;
}

/** RFC 6749 §6, with rotation. */
export async function refresh(
  parts: RefreshParts,
  app: AuthenticatedClient,
  request: Refresh,
  now: number,
): Promise<TokenResponse> {
  const { storage, keys } = parts;
  const { proven } = request;
  if (!proven) throw unknownToken('refresh', request.refreshToken);
  const { grant, token } = proven;
  if (grant.appId !== app.id) {
    throw new OAuthError('invalid_grant', 'token_of_another_app', 'This refresh token was issued to another app.');
  }
  request.context.businessId = grant.businessId;
  if (grant.inactiveReason) throw new OAuthError('invalid_grant', grant.inactiveReason, explain(grant.inactiveReason));
  refuseExpired(token.expiresAt, now);
  const kind = await classify(parts, proven, now);
  if (kind === 'reuse') {
    await revokeGrant(storage, grant.id, 'refresh_token_reused', now);
    throw new OAuthError('invalid_grant', 'refresh_token_reused', explain('refresh_token_reused'));
  }
  const scopes = readNarrowedScopes(grant, request.scope);

  if (kind === 'retry') return issueTokens(keys, { ...grant, rotatedAt: grant.rotatedAt ?? now }, scopes, now);
  if (kind === 'late retry') {
    return issueTokens(keys, { ...grant, rotatedAt: grant.rotatedAt ?? now, accessFrom: now }, scopes, now);
  }
  const first = await rotate(storage.relaxed, { grant, spent: token.rotation }, now);
  if (!first) return refresh(parts, app, { ...request, proven: await verifyToken(storage.durable, token) }, now);
  return issueTokens(keys, { ...grant, rotation: token.rotation + 1, rotatedAt: now }, scopes, now);
}

/** The table of docs/decisions/0001. The row decides, so that two tabs, workers or nodes never get different successors. */
async function classify(
  parts: RefreshParts,
  { token, grant }: VerifiedToken,
  now: number,
): Promise<'current' | 'retry' | 'late retry' | 'reuse'> {
  // Ahead of a row that lost a commit is as good as current: the token is proof that we issued it.
  if (token.rotation >= grant.rotation) return 'current';
  const isPrevious = token.rotation === grant.rotation - 1;
  if (isPrevious && isWithin(parts.retryWindow, grant.rotatedAt, now)) return 'retry';
  // The app has not used the successor, so the response was lost, or the app crashed before it stored the pair.
  if (isPrevious && !(await isSuccessorUsed(parts, grant))) return 'late retry';
  return 'reuse';
}

async function isSuccessorUsed({ storage, uses }: RefreshParts, grant: Grant): Promise<boolean> {
  if (uses.isCurrentUsed(grant)) return true;
  // A use leaves the memory when it is stored, and that may have been after this row was read.
  const latest = await findGrant(storage.durable, { grantId: grant.id, rotation: grant.rotation });
  return !latest || latest.rotation > grant.rotation || latest.usedRotation >= grant.rotation;
}

function isWithin(window: number, since: number | null, now: number): boolean {
  return since !== null && now - since < window;
}

function refuseExpired(expiresAt: number, now: number): void {
  if (now < expiresAt) return;
  throw new OAuthError(
    'invalid_grant',
    'refresh_token_expired',
    'This refresh token has expired: it lasts 30 days from its issue. Send the user to the authorize endpoint again.',
  );
}

/** A refresh may ask for less for this one access token, never for more; the grant keeps its scopes. */
function readNarrowedScopes(grant: Grant, scope: string | undefined): Scopes {
  const { scopes, unknown } =
    scope === undefined ? { scopes: grant.scopes, unknown: [] } : readScopes(parseScopes(scope));
  const beyond = scopesBeyond(scopes, grant.scopes);
  if (unknown.length === 0 && beyond.length === 0 && scopes.length > 0) return scopes;
  throw new OAuthError(
    'invalid_scope',
    'scope_not_allowed',
    `A refresh can ask for these scopes or fewer: ${formatScopes(grant.scopes) || 'none are left'}.`,
  );
}
