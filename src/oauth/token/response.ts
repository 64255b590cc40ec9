import { type Grant, REFRESH_LIFETIME } from '../../grants/grants.ts';
import { HOUR, SECOND } from '../../lib/clock.ts';
import type { Keyring } from '../../lib/keyring.ts';
import { formatScopes, type Scopes } from '../../lib/scope-lists.ts';
import { encodeToken, NO_SCOPE_BITS, scopeBitsOf } from '../tokens.ts';

/** Exactly the five fields of RFC 6749 §5.1 that the API reference names, for both grant types. */
export interface TokenResponse {
  access_token: string;
  token_type: 'bearer';
  expires_in: number;
  refresh_token: string;
  scope: string;
}

export const ACCESS_LIFETIME = HOUR;

interface Issue extends Pick<Grant, 'id' | 'salt' | 'rotation' | 'grantedScopes'> {
  rotatedAt: number;
  /** From when the access token's hour counts, if not from the rotation. */
  accessFrom?: number;
}

/** The pair of one rotation. Made again from the same row it is the same pair, byte for byte. */
export function issueTokens(
  keys: Keyring,
  { id: grantId, salt, rotation, grantedScopes, rotatedAt, accessFrom = rotatedAt }: Issue,
  scopes: Scopes,
  now: number,
): TokenResponse {
  const expiresAt = accessFrom + ACCESS_LIFETIME;
  const refreshExpiresAt = rotatedAt + REFRESH_LIFETIME;
  const token = { grantId, rotation, expiresAt, scopeBits: scopeBitsOf(grantedScopes, scopes) };
  return {
    access_token: encodeToken(keys, salt, { ...token, kind: 'access' }),
    token_type: 'bearer',
    expires_in: Math.floor((expiresAt - now) / SECOND),
    refresh_token: encodeToken(keys, salt, {
      ...token,
      kind: 'refresh',
      expiresAt: refreshExpiresAt,
      scopeBits: NO_SCOPE_BITS,
    }),
    scope: formatScopes(scopes),
  };
}
