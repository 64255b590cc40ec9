import { findApp } from '../../apps/apps.ts';
import { isRegistered } from '../../apps/redirect-uris.ts';
import { type Grant, markExchanged } from '../../grants/grants.ts';
import { explain } from '../../grants/inactive-reasons.ts';
import { revokeGrant } from '../../grants/revocation.ts';
import type { Keyring } from '../../lib/keyring.ts';
import type { RequestContext } from '../../request-log/log.ts';
import type { Storage } from '../../storage/storage.ts';
import type { AuthenticatedClient } from '../client-authentication.ts';
import { OAuthError } from '../errors.ts';
import { matchesChallenge } from '../pkce.ts';
import { rejectOtherResource } from '../resource-indicators.ts';
import { findVerifiedToken, issueTokens, type TokenResponse, unknownToken, type VerifiedToken } from '../tokens.ts';

interface CodeExchange {
  code: string;
  /** Undefined if this server did not issue the code. */
  verified: VerifiedToken | undefined;
  redirectUri: string | undefined;
  codeVerifier: string | undefined;
  resource: string | string[] | undefined;
  context: RequestContext;
}

/** RFC 6749 §4.1.3. The checks are in this order so that only the app itself can spend its code, and only once. */
export async function exchangeCode(
  deps: { storage: Storage; keys: Keyring; issuer: string },
  client: AuthenticatedClient,
  exchange: CodeExchange,
  now: number,
): Promise<TokenResponse> {
  const { storage, keys, issuer } = deps;
  const { verified } = exchange;
  if (!verified) throw unknownToken('code', exchange.code);
  const { grant } = verified;
  if (grant.appId !== client.id) {
    throw new OAuthError('invalid_grant', 'token_of_another_app', 'This code was issued to another app.');
  }
  exchange.context.businessId = grant.businessId;
  exchange.context.usedPkce = exchange.codeVerifier !== undefined;
  if (grant.exchangedAt !== null) await rejectReuse(storage, grant, now);
  if (grant.inactiveReason) throw new OAuthError('invalid_grant', grant.inactiveReason, explain(grant.inactiveReason));
  rejectExpired(grant, now);
  const sentSameUri = (exchange.redirectUri ?? null) === grant.redirectUri;
  if (!sentSameUri) await rejectOtherRedirectUri(storage, grant, exchange.redirectUri);
  if (exchange.resource !== undefined) rejectOtherResource(issuer, grant.resource, exchange.resource);
  await rejectWrongVerifier(storage, grant, exchange.codeVerifier, now);

  // Another request exchanged the code or revoked the grant in the meantime: the row says which.
  const first = await markExchanged(storage.durable, grant.id, now);
  if (!first) {
    const reloaded = await findVerifiedToken(storage.durable, verified.token, now);
    return exchangeCode(deps, client, { ...exchange, verified: reloaded }, now);
  }
  return issueTokens(keys, { ...grant, rotatedAt: now }, grant.scopes, now);
}

/** RFC 6749 §4.1.2: a code that is sent twice may have been stolen, so the tokens of the first exchange are revoked. */
async function rejectReuse(storage: Storage, grant: Grant, now: number): Promise<never> {
  await revokeGrant(storage.durable, grant.id, 'code_reused', now);
  const reason = grant.inactiveReason ?? 'code_reused';
  throw new OAuthError('invalid_grant', reason, explain(reason));
}

function rejectExpired(grant: Grant, now: number): void {
  if (now < grant.codeExpiresAt) return;
  throw new OAuthError(
    'invalid_grant',
    'code_expired',
    'This code has expired: codes last 10 minutes. Start again at the authorize endpoint.',
  );
}

/** If the authorize request named no URI, because the app has only one, the exchange may still name that one. */
async function rejectOtherRedirectUri({ durable }: Storage, grant: Grant, sent: string | undefined): Promise<void> {
  const app = grant.redirectUri === null ? await findApp(durable, grant.appId) : undefined;
  if (app && sent !== undefined && isRegistered(app.redirectUris, sent)) return;
  throw new OAuthError(
    'invalid_grant',
    'redirect_uri_different',
    'Send exactly the redirect_uri of the authorize request.',
  );
}

/** A wrong verifier revokes the grant, so a stolen code allows one guess only. */
async function rejectWrongVerifier(storage: Storage, grant: Grant, verifier: string | undefined, now: number) {
  if (grant.codeChallenge === null && verifier === undefined) return;
  if (grant.codeChallenge !== null && verifier !== undefined && matchesChallenge(verifier, grant.codeChallenge)) return;
  const reason = whyVerifierIsWrong(grant, verifier);
  await revokeGrant(storage.durable, grant.id, reason, now);
  throw new OAuthError('invalid_grant', reason, explain(reason));
}

function whyVerifierIsWrong({ codeChallenge }: Grant, verifier: string | undefined) {
  if (codeChallenge === null) return 'code_verifier_unexpected';
  return verifier === undefined ? 'code_verifier_missing' : 'code_verifier_wrong';
}
