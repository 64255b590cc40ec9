import { type Grant, REFRESH_LIFETIME } from '../../grants/grants.ts';
import { formatScopes, type ScopeMask } from '../../grants/scopes.ts';
import { HOUR, SECOND } from '../../lib/clock.ts';
import type { Keyring } from '../../lib/keyring.ts';
import { encodeToken } from '../tokens.ts';

/** Exactly the five fields of RFC 6749 §5.1 that the API reference names, for both grant types. */
export interface TokenResponse {
  access_token: string;
  token_type: 'bearer';
  expires_in: number;
  refresh_token: string;
  scope: string;
}

export const ACCESS_LIFETIME = HOUR;

interface Issue extends Pick<Grant, 'id' | 'salt' | 'rotation'> {
  rotatedAt: number;
  /** From when the access token's hour counts, if not from the rotation. */
  accessFrom?: number;
}

/** The pair of one rotation. Made again from the same row it is the same pair, byte for byte. */
export function issueTokens(
  keys: Keyring,
  { id, salt, rotation, rotatedAt, accessFrom = rotatedAt }: Issue,
  scopes: ScopeMask,
  now: number,
): TokenResponse {
  const expiresAt = accessFrom + ACCESS_LIFETIME;
  const seal = (token: { kind: 'access' | 'refresh'; expiresAt: number; scopes: ScopeMask }) =>
    encodeToken(keys, salt, { grantId: id, rotation, ...token });
  return {
    access_token: seal({ kind: 'access', expiresAt, scopes }),
    token_type: 'bearer',
    expires_in: Math.floor((expiresAt - now) / SECOND),
    // The grant's own scopes are what a refresh goes by, so the token carries none.
    refresh_token: seal({ kind: 'refresh', expiresAt: rotatedAt + REFRESH_LIFETIME, scopes: 0 }),
    scope: formatScopes(scopes),
  };
}
