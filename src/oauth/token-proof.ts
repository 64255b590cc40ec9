import { findGrant, type Grant } from '../grants/grants.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { Database } from '../storage/storage.ts';
import { OAuthError } from './errors.ts';
import { type DecodedToken, decodeToken, isGenuine, kindOf, type TokenKind } from './tokens.ts';

/** A token that we did issue, and the grant that it belongs to. Whether either still holds is for the caller to ask. */
export interface VerifiedToken {
  token: DecodedToken;
  grant: Grant;
}

/** Of a token that has been opened. It may be asked again, since the grant may have changed meanwhile. */
export async function verifyToken(db: Database, token: DecodedToken): Promise<VerifiedToken | undefined> {
  return proveBy(await findGrant(db, token), token);
}

/** The grant itself has to vouch for the token. */
export function proveBy(grant: Grant | undefined, token: DecodedToken): VerifiedToken | undefined {
  return grant && isGenuine(token, grant.salt) ? { token, grant } : undefined;
}

/** An access or a refresh token, whichever the text says it is. */
export function openEitherToken(keys: Keyring, text: string): DecodedToken | undefined {
  const kind = kindOf(text);
  return kind && kind !== 'code' ? decodeToken(keys, kind, text) : undefined;
}

const NAMES: Record<TokenKind, string> = {
  code: 'a code (gac_...)',
  access: 'an access token (gat_...)',
  refresh: 'a refresh token (grt_...)',
};

/** What to tell someone whose token could not be proven. */
export function describeUnproven(kind: TokenKind, text: string) {
  const actual = kindOf(text);
  if (actual && actual !== kind) {
    const description = `This is ${NAMES[actual]}; send ${NAMES[kind]} here.`;
    return { reason: 'token_of_another_kind', description } as const;
  }
  const description = `This is not ${NAMES[kind]} of this server, or it ended so long ago that nothing is known of it any more.`;
  return { reason: 'token_unknown', description } as const;
}

export function unknownToken(kind: TokenKind, text: string): OAuthError {
  const { reason, description } = describeUnproven(kind, text);
  return new OAuthError('invalid_grant', reason, description);
}
