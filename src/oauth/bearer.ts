import { ApiError } from '../lib/errors.ts';
import { isId } from '../lib/ids.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { Database } from '../storage/storage.ts';
import { explain } from './grant-reasons.ts';
import { readScopes, type ScopeMask } from './scopes.ts';
import { describeUnproven, proveToken } from './token-proof.ts';

/** What a bearer of an access token may do: some scopes, in one business. */
export interface Access {
  grantId: string;
  businessId: string;
  scopes: ScopeMask;
}

/** RFC 6750 §2.1 and §3.1. The token is taken from the header and nowhere else. */
export async function readAccess(
  { db, keys }: { db: Database; keys: Keyring },
  { authorization, inQuery }: { authorization: string | undefined; inQuery: boolean },
  now: number,
): Promise<Access> {
  // RFC 6750 §3.1: whoever tries another way to authenticate is told how, and nothing more.
  if (authorization === undefined || !/^Bearer( |$)/i.test(authorization)) {
    throw new ApiError(401, 'unauthorized', 'Send the access token: Authorization: Bearer <access token>.', {});
  }
  if (inQuery) {
    throw refuse(400, 'invalid_request', 'Send the access token in the Authorization header only, not in the address.');
  }
  const [, text] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  if (text === undefined) throw refuse(401, 'invalid_token', 'The header reads: Authorization: Bearer <access token>.');
  const proven = await proveToken(db, keys, 'access', text);
  if (!proven) throw refuse(401, 'invalid_token', describeUnproven('access', text));
  const { token, grant } = proven;
  if (grant.deadBecause) throw refuse(401, 'invalid_token', explain(grant.deadBecause));
  if (now >= token.expiresAt) {
    throw refuse(401, 'invalid_token', 'This access token has expired: it lasts one hour. Use the refresh token.');
  }
  if (grant.accessTokenRevoked) throw refuse(401, 'invalid_token', explain('revoked_by_app'));
  return { grantId: grant.id, businessId: grant.businessId, scopes: token.scopes & grant.scopes };
}

export function requireScope(access: Access, scope: string): void {
  if (access.scopes & readScopes([scope]).scopes) return;
  const description = `This needs the scope ${scope}, which the user has not allowed for this token.`;
  throw new ApiError(403, 'insufficient_scope', description, {
    error: 'insufficient_scope',
    error_description: description,
    scope,
  });
}

/** The header selects; it never grants. The answer is the same whether or not the other business exists. */
export function requireBusiness(access: Access, header: string | undefined): string {
  const selected = header?.toLowerCase();
  if (selected === undefined || !isId(selected)) {
    throw new ApiError(400, 'invalid_request', 'Send the header x-business-id once, with the UUID of the business.');
  }
  if (selected !== access.businessId) {
    throw new ApiError(
      403,
      'business_mismatch',
      'This token does not act in that business. GET /api/v1/businesses says which one it acts in.',
    );
  }
  return access.businessId;
}

function refuse(status: number, code: string, description: string): ApiError {
  return new ApiError(status, code, description, { error: code, error_description: description });
}
