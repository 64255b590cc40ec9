import { hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

/** 256 random bits, with a prefix by which people and secret scanners recognise the kind. */
export function newSecret(prefix = ''): string {
  return prefix + randomBytes(32).toString('base64url');
}

/** No i, l, o or u: people copy these codes from paper. */
const READABLE_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** 80 random bits in four groups, such as 3f7k-9w2m-0abc-x5tz. */
export function newReadableCode(): string {
  const characters = [...randomBytes(16)].map((byte) => READABLE_ALPHABET[byte % READABLE_ALPHABET.length]).join('');
  return characters.replaceAll(/.{4}(?!$)/g, '$&-');
}

export function newSalt(): Buffer {
  return randomBytes(16);
}

/** At twelve bytes, random nonces do not repeat under one key in practice. */
export function newNonce(length: number): Buffer {
  return randomBytes(length);
}

/** From 0 to 1, for jitter. */
export function randomFraction(): number {
  return randomInt(0x1_0000_0000) / 0x1_0000_0000;
}

/** A plain hash is enough for 256 random bits. Passwords use `passwords.ts`. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

export function sha256(content: string | Uint8Array): string {
  return hash('sha256', content, 'base64url');
}

/** In constant time. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

export function sameText(a: string, b: string): boolean {
  return sameBytes(Buffer.from(a), Buffer.from(b));
}
