import { findGrant, type Grant, rotate } from '../../grants/grants.ts';
import { explain } from '../../grants/inactive-reasons.ts';
import { revokeGrant } from '../../grants/revocation.ts';
import type { TokenUses } from '../../grants/token-uses.ts';
import type { Keyring } from '../../lib/keyring.ts';
import { formatScopes, parseScopes, type Scopes, scopesBeyond } from '../../lib/scope-lists.ts';
import type { RequestContext } from '../../request-log/log.ts';
import type { Storage } from '../../storage/storage.ts';
import type { AuthenticatedClient } from '../client-authentication.ts';
import { OAuthError } from '../errors.ts';
import { rejectOtherResource } from '../resource-indicators.ts';
import { readScopes } from '../scopes.ts';
import {
  findVerifiedToken,
  issueTokens,
  repeatTokens,
  type TokenResponse,
  unknownToken,
  type VerifiedToken,
} from '../tokens.ts';

interface RefreshRequest {
  refreshToken: string;
  /** Undefined if this server did not issue the token. */
  verified: VerifiedToken | undefined;
  scope: string | undefined;
  resource: string | string[] | undefined;
  context: RequestContext;
}

interface RefreshDeps {
  storage: Storage;
  keys: Keyring;
  issuer: string;
  retryWindow: number;
  uses: TokenUses;
}

/** RFC 6749 §6, with rotation. */
export async function refreshTokens(
  deps: RefreshDeps,
  client: Pick<AuthenticatedClient, 'id'>,
  request: RefreshRequest,
  now: number,
): Promise<TokenResponse> {
  const { storage, keys } = deps;
  const { verified } = request;
  if (!verified) throw unknownToken('refresh', request.refreshToken);
  const { grant, token } = verified;
  if (grant.appId !== client.id) {
    throw new OAuthError('invalid_grant', 'token_of_another_app', 'This refresh token was issued to another app.');
  }
  request.context.businessId = grant.businessId;
  if (grant.inactiveReason) throw new OAuthError('invalid_grant', grant.inactiveReason, explain(grant.inactiveReason));
  if (now >= token.expiresAt) throw expired();
  // A token ahead of the row is current, too: the row lost a commit, and the token proves that it was issued.
  const isCurrent = token.rotation >= grant.rotation;
  const kind = isCurrent ? 'current' : await classifySpent(deps, verified, now);
  if (kind === 'reuse') {
    await revokeGrant(storage.durable, grant.id, 'refresh_token_reused', now);
    throw new OAuthError('invalid_grant', 'refresh_token_reused', explain('refresh_token_reused'));
  }
  if (request.resource !== undefined) rejectOtherResource(deps.issuer, grant.resource, request.resource);
  const keepsScopes = request.scope === undefined && grant.scopes.length > 0;
  const scopes = keepsScopes ? grant.scopes : narrowScopes(grant, request.scope ?? '');

  if (kind !== 'current') {
    const rotatedAt = grant.rotatedAt ?? now;
    const accessFrom = kind === 'retry' ? rotatedAt : now;
    return repeatTokens(keys, { grant: { ...grant, rotatedAt }, accessFrom, scopes }, now);
  }
  const first = await rotate(storage.relaxed, { grant, spent: token.rotation }, now);
  if (!first) {
    const reloaded = await findVerifiedToken(storage.durable, token, now);
    return refreshTokens(deps, client, { ...request, verified: reloaded }, now);
  }
  return issueTokens(keys, { ...grant, rotation: token.rotation + 1, rotatedAt: now }, scopes, now);
}

/** The table of docs/decisions/0001. The row decides, so tabs, workers and nodes never get different successors. */
async function classifySpent(
  deps: RefreshDeps,
  { token, grant }: VerifiedToken,
  now: number,
): Promise<'retry' | 'late retry' | 'reuse'> {
  const isPrevious = token.rotation === grant.rotation - 1;
  if (isPrevious && isWithin(deps.retryWindow, grant.rotatedAt, now)) return 'retry';
  // The app has not used the successor, so the response was lost, or the app crashed before it stored the pair.
  if (isPrevious && !(await isSuccessorUsed(deps, grant, now))) return 'late retry';
  return 'reuse';
}

async function isSuccessorUsed({ storage, uses }: RefreshDeps, grant: Grant, now: number): Promise<boolean> {
  // A revocation is a use. Nodes of 0.2.0 and older store it a second later, and not if they are killed.
  if (grant.revokedTokens !== null || uses.isCurrentUsed(grant)) return true;
  // A use is removed from memory when it is stored, possibly after this row was read.
  const latest = await findGrant(storage.durable, { grantId: grant.id, rotation: grant.rotation }, now);
  return !latest || latest.rotation > grant.rotation || latest.usedRotation >= grant.rotation;
}

function isWithin(window: number, since: number | null, now: number): boolean {
  return since !== null && now - since < window;
}

function expired(): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'refresh_token_expired',
    'This refresh token has expired: it lasts 30 days from its issue. Send the user to the authorize endpoint again.',
  );
}

/** RFC 6749 §6: a refresh may request fewer scopes for its access token. The scopes of the grant do not change. */
function narrowScopes(grant: Grant, scope: string): Scopes {
  const { scopes, unknown } = readScopes(parseScopes(scope));
  const beyond = scopesBeyond(scopes, grant.scopes);
  if (unknown.length === 0 && beyond.length === 0 && scopes.length > 0) return scopes;
  throw new OAuthError(
    'invalid_scope',
    'scope_not_allowed',
    `A refresh can request these scopes or fewer: ${formatScopes(grant.scopes) || 'none are left'}.`,
  );
}
