import { findGrant, type Grant } from '../grants/grants.ts';
import type { ScopeMask } from '../grants/scopes.ts';
import { SECOND } from '../lib/clock.ts';
import { readId, writeId } from '../lib/ids.ts';
import type { Key, Keyring } from '../lib/keyring.ts';
import { sameBytes } from '../lib/secrets.ts';
import type { Database } from '../storage/storage.ts';
import { OAuthError } from './errors.ts';

/**
 * A token's text is its prefix and the base64url of
 *
 *     key id 4 | grant id 16 | rotation 4 | expiry 4 | scopes 4 | check 8 | MAC 32
 *
 * 72 bytes, so that base64url leaves no spare bits in which a second text of the same token could hide.
 */
export interface Token {
  kind: TokenKind;
  grantId: string;
  rotation: number;
  /** In milliseconds. The text holds whole seconds, rounded up: a token never dies before its time. */
  expiresAt: number;
  scopes: ScopeMask;
}

export type TokenKind = 'access' | 'refresh' | 'code';

/** Read from a text that passed the short check: it has our shape and our key, but its grant has yet to vouch for it. */
export interface DecodedToken extends Token {
  key: Key;
  bytes: Buffer;
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
const FIELDS = 32;
/** The fields and their check. */
const HEAD = FIELDS + 8;
const LENGTH = HEAD + 32;
const BASE64URL = /^[A-Za-z0-9_-]{96}$/;

/** The same fields, salt and key always make the same text: a token is derived, not random, and need not be stored. */
export function encodeToken(keys: Keyring, salt: Uint8Array, token: Token): string {
  const { signing } = keys;
  // Every byte of it is written below.
  const bytes = Buffer.allocUnsafe(LENGTH);
  signing.id.copy(bytes);
  writeId(token.grantId, bytes, 4);
  bytes.writeUInt32BE(token.rotation, 20);
  bytes.writeUInt32BE(Math.ceil(token.expiresAt / SECOND), 24);
  bytes.writeUInt32BE(token.scopes, 28);
  bytes.write(shortCheck(signing, token.kind, bytes), FIELDS, HEAD - FIELDS, 'latin1');
  bytes.write(fullMac(signing, token.kind, salt, bytes), HEAD, 'latin1');
  return PREFIXES[token.kind] + bytes.toString('base64url');
}

/** Refuses junk, forgeries and other kinds of token before the database is asked. */
export function decodeToken(keys: Keyring, kind: TokenKind, text: string): DecodedToken | undefined {
  const body = text.slice(PREFIXES[kind].length);
  if (!text.startsWith(PREFIXES[kind]) || !BASE64URL.test(body)) return undefined;
  const bytes = Buffer.from(body, 'base64url');
  const key = keys.find(bytes.subarray(0, 4));
  if (!key || !isMac(shortCheck(key, kind, bytes), bytes.subarray(FIELDS, HEAD))) return undefined;
  return {
    kind,
    key,
    bytes,
    grantId: readId(bytes, 4),
    rotation: bytes.readUInt32BE(20),
    expiresAt: bytes.readUInt32BE(24) * SECOND,
    scopes: bytes.readUInt32BE(28),
  };
}

/** Whether the grant with this salt made the token: a leaked key alone cannot forge one, nor can a leaked row. */
export function isGenuine(token: DecodedToken, salt: Uint8Array): boolean {
  return isMac(fullMac(token.key, token.kind, salt, token.bytes), token.bytes.subarray(HEAD));
}

/** What a text claims to be, for a sentence that helps whoever sent the wrong one. */
export function kindOf(text: string): TokenKind | undefined {
  return (Object.keys(PREFIXES) as TokenKind[]).find((kind) => text.startsWith(PREFIXES[kind]));
}

function shortCheck(key: Key, kind: TokenKind, bytes: Buffer): string {
  return key.mac(CHECK_PURPOSES[kind], bytes.subarray(0, FIELDS)).slice(0, HEAD - FIELDS);
}

function fullMac(key: Key, kind: TokenKind, salt: Uint8Array, bytes: Buffer): string {
  return key.mac(MAC_PURPOSES[kind], salt, bytes.subarray(0, HEAD));
}

function isMac(mac: string, sent: Buffer): boolean {
  return sameBytes(Buffer.from(mac, 'latin1'), sent);
}

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
