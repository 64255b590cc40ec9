import { ALL_TOKENS } from '../grants/grant.ts';
import { findGrant, type Grant } from '../grants/grants.ts';
import { REFRESH_LIFETIME } from '../grants/lifetimes.ts';
import { HOUR, SECOND } from '../lib/clock.ts';
import { readId, writeId } from '../lib/ids.ts';
import type { Key, Keyring } from '../lib/keyring.ts';
import { commonScopes, formatScopes, type Scopes } from '../lib/scope-lists.ts';
import { sameBytes } from '../lib/secrets.ts';
import type { Database } from '../storage/storage.ts';
import { OAuthError } from './errors.ts';

/**
 * The text of a token is its prefix and the base64url of
 *
 *     key id 4 | grant id 16 | rotation 4 | expiry 4 | scopes 4, 7, 10… | check 8 | MAC 32
 *
 * The length is a multiple of three: base64url then has no unused bits, and each token has exactly one text.
 */
export interface Token {
  kind: TokenKind;
  grantId: string;
  rotation: number;
  /** In milliseconds. The text holds whole seconds, rounded up. */
  expiresAt: number;
  /** The scopes of an access token: bit n is set if the token has the nth scope of its grant. */
  scopeBits: Uint8Array;
}

export type TokenKind = 'access' | 'refresh' | 'code';

/** From a text that passed the short check. Its grant has not verified it yet. */
export interface DecodedToken extends Token {
  key: Key;
  bytes: Buffer;
  /** The rotation whose revoked access tokens matter to a request with this token: a refresh may repeat the pair of the next one. */
  accessRotation: number;
}

const PREFIXES: Record<TokenKind, string> = { access: 'gat_', refresh: 'grt_', code: 'gac_' };
const CHECK_PURPOSES: Record<TokenKind, string> = {
  access: 'access check',
  refresh: 'refresh check',
  code: 'code check',
};
const MAC_PURPOSES: Record<TokenKind, string> = {
  access: 'access token',
  refresh: 'refresh token',
  code: 'code token',
};
const SCOPES_AT = 28;
const CHECK = 8;
const MAC = 32;
const BASE64URL = /^(?:[A-Za-z0-9_-]{4}){24,}$/;

/** Codes and refresh tokens carry no scopes: the grant has them. */
export const NO_SCOPE_BITS: Uint8Array = Buffer.alloc(4);

/** Deterministic: the same fields, salt and key give the same text, so tokens need not be stored. */
export function encodeToken(keys: Keyring, salt: Uint8Array, token: Token): string {
  const { signing } = keys;
  const checkAt = SCOPES_AT + token.scopeBits.length;
  // Every byte is written below.
  const bytes = Buffer.allocUnsafe(checkAt + CHECK + MAC);
  signing.id.copy(bytes);
  writeId(token.grantId, bytes, 4);
  bytes.writeUInt32BE(token.rotation, 20);
  bytes.writeUInt32BE(Math.ceil(token.expiresAt / SECOND), 24);
  bytes.set(token.scopeBits, SCOPES_AT);
  const check = signing.mac(CHECK_PURPOSES[token.kind], bytes.subarray(0, checkAt));
  bytes.set(check.subarray(0, CHECK), checkAt);
  bytes.set(signing.mac(MAC_PURPOSES[token.kind], salt, bytes.subarray(0, -MAC)), checkAt + CHECK);
  return PREFIXES[token.kind] + bytes.toString('base64url');
}

/** Rejects malformed and forged tokens, and those of another kind, without a query. */
export function decodeToken(keys: Keyring, kind: TokenKind, text: string): DecodedToken | undefined {
  const body = text.slice(PREFIXES[kind].length);
  if (!text.startsWith(PREFIXES[kind]) || !BASE64URL.test(body)) return undefined;
  const bytes = Buffer.from(body, 'base64url');
  const key = keys.find(bytes.subarray(0, 4));
  const check = key?.mac(CHECK_PURPOSES[kind], bytes.subarray(0, -CHECK - MAC)).subarray(0, CHECK);
  if (!key || !check || !sameBytes(check, bytes.subarray(-CHECK - MAC, -MAC))) return undefined;
  const rotation = bytes.readUInt32BE(20);
  return {
    kind,
    key,
    bytes,
    grantId: readId(bytes, 4),
    rotation,
    accessRotation: kind === 'refresh' ? rotation + 1 : rotation,
    expiresAt: bytes.readUInt32BE(24) * SECOND,
    scopeBits: bytes.subarray(SCOPES_AT, -CHECK - MAC),
  };
}

/** Four bytes for up to 32 scopes, and three more for every further 24. */
export function scopeBitsOf(granted: Scopes, scopes: Scopes): Uint8Array {
  const bits = new Uint8Array(4 + 3 * Math.ceil(Math.max(0, granted.length - 32) / 24));
  for (const [index, name] of granted.entries()) {
    if (scopes.includes(name)) bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
  }
  return bits;
}

/** The scopes that an access token has at this moment. */
export function scopesOf({ token, grant }: VerifiedToken): Scopes {
  const hasBit = (index: number) => ((token.scopeBits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
  const inToken = grant.grantedScopes.filter((_, index) => hasBit(index));
  return commonScopes(inToken, grant.scopes);
}

/** A token that this server issued, and its grant. Either may be expired or revoked. */
export interface VerifiedToken {
  token: DecodedToken;
  grant: Grant;
}

/** Undefined unless this grant issued the token: neither the key nor the row alone is enough to forge one. */
export function verifyToken(token: DecodedToken, grant: Grant | undefined): VerifiedToken | undefined {
  if (!grant) return undefined;
  const expected = token.key.mac(MAC_PURPOSES[token.kind], grant.salt, token.bytes.subarray(0, -MAC));
  return sameBytes(expected, token.bytes.subarray(-MAC)) ? { token, grant } : undefined;
}

type AccessToken = Pick<Token, 'expiresAt' | 'scopeBits'>;

/** Among the access tokens of one rotation. */
export function idOfAccessToken({ expiresAt, scopeBits }: AccessToken): string {
  return `${Math.ceil(expiresAt / SECOND)}:${Buffer.from(scopeBits).toString('hex')}`;
}

/** Whether this access token has been revoked alone. */
export function isRevoked({ revokedTokens }: Pick<Grant, 'revokedTokens'>, token: AccessToken): boolean {
  if (revokedTokens === null) return false;
  return revokedTokens === ALL_TOKENS || revokedTokens.split(' ').includes(idOfAccessToken(token));
}

/** Verifies the token against the current row of its grant. */
export async function findVerifiedToken(
  db: Database,
  token: DecodedToken,
  now: number,
): Promise<VerifiedToken | undefined> {
  return verifyToken(token, await findGrant(db, { grantId: token.grantId, rotation: token.accessRotation }, now));
}

/** RFC 6749 §5.1: the same five fields for both grant types. */
export interface TokenResponse {
  access_token: string;
  token_type: 'bearer';
  expires_in: number;
  refresh_token: string;
  scope: string;
}

export const ACCESS_LIFETIME = HOUR;

interface IssueOptions extends Pick<Grant, 'id' | 'salt' | 'rotation' | 'grantedScopes' | 'expiresAt'> {
  rotatedAt: number;
  /** The start of the access token's lifetime, if it is not the rotation. */
  accessFrom?: number;
}

/**
 * The token pair of one rotation. The same row gives the same pair, byte for byte. The end of the grant is not in them: it is
 * read from the row whenever they are used.
 */
export function issueTokens(
  keys: Keyring,
  { id: grantId, salt, rotation, grantedScopes, expiresAt: end, rotatedAt, accessFrom = rotatedAt }: IssueOptions,
  scopes: Scopes,
  now: number,
): TokenResponse {
  const accessExpiresAt = accessFrom + ACCESS_LIFETIME;
  const scopeBits = scopeBitsOf(grantedScopes, scopes);
  const access = { kind: 'access', grantId, rotation, expiresAt: accessExpiresAt, scopeBits } as const;
  const expiresAt = rotatedAt + REFRESH_LIFETIME;
  const refresh = { kind: 'refresh', grantId, rotation, expiresAt, scopeBits: NO_SCOPE_BITS } as const;
  return {
    access_token: encodeToken(keys, salt, access),
    token_type: 'bearer',
    expires_in: Math.floor((Math.min(accessExpiresAt, end ?? accessExpiresAt) - now) / SECOND),
    refresh_token: encodeToken(keys, salt, refresh),
    scope: formatScopes(scopes),
  };
}

/**
 * The pair of the newest rotation again: with the access token that was issued at `accessFrom`, or if it has been revoked, with the newest
 * one that has not.
 */
export function repeatTokens(
  keys: Keyring,
  { grant, accessFrom, scopes }: { grant: Grant & { rotatedAt: number }; accessFrom: number; scopes: Scopes },
  now: number,
): TokenResponse {
  const scopeBits = scopeBitsOf(grant.grantedScopes, scopes);
  const isFree = (from: number) => !isRevoked(grant, { expiresAt: from + ACCESS_LIFETIME, scopeBits });
  let from = accessFrom;
  if (!isFree(from) && grant.revokedTokens !== ALL_TOKENS) {
    from = now;
    // Expiries are whole seconds.
    while (!isFree(from)) from -= SECOND;
  }
  return issueTokens(keys, { ...grant, accessFrom: from }, scopes, now);
}

/** The kind that the prefix of a text names. */
export function kindOf(text: string): TokenKind | undefined {
  return (Object.keys(PREFIXES) as TokenKind[]).find((kind) => text.startsWith(PREFIXES[kind]));
}

/** For endpoints that accept both kinds. */
export function decodeAccessOrRefreshToken(keys: Keyring, text: string): DecodedToken | undefined {
  const kind = kindOf(text);
  return kind && kind !== 'code' ? decodeToken(keys, kind, text) : undefined;
}

const NAMES: Record<TokenKind, string> = {
  code: 'a code (gac_...)',
  access: 'an access token (gat_...)',
  refresh: 'a refresh token (grt_...)',
};

export function describeUnknownToken(kind: TokenKind, text: string) {
  const actual = kindOf(text);
  if (actual && actual !== kind) {
    const description = `This is ${NAMES[actual]}; send ${NAMES[kind]} here.`;
    return { reason: 'token_of_another_kind', description } as const;
  }
  const description = `This is not ${NAMES[kind]} of this server, or it ended so long ago that its record was deleted.`;
  return { reason: 'token_unknown', description } as const;
}

export function unknownToken(kind: TokenKind, text: string): OAuthError {
  const { reason, description } = describeUnknownToken(kind, text);
  return new OAuthError('invalid_grant', reason, description);
}
