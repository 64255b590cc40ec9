import { createCipheriv, createDecipheriv, hash, hkdfSync } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { newNonce, sameText } from './secrets.ts';

export interface Key {
  /** Four bytes, derived one-way from the key. */
  id: Buffer;
  keyFor(purpose: string): Buffer;
  /** HMAC-SHA-256. */
  mac(purpose: string, ...parts: Uint8Array[]): Buffer;
}

/** The first key signs and encrypts; all keys verify and decrypt. So a key can be replaced without breaking older values. */
export interface Keyring {
  signing: Key;
  find(id: Uint8Array): Key | undefined;
  all: Key[];
}

export function createKeyring(secrets: readonly string[]): Keyring {
  const all = secrets.map(createKey);
  const signing = all[0];
  if (!signing) throw new Error('A keyring needs at least one key.');
  return { signing, all, find: (id) => all.find((key) => key.id.equals(id)) };
}

/** The ids of all keys in hex, the signing key first. They reveal nothing about the keys. */
export function idsOf(keys: Keyring): string[] {
  return keys.all.map(({ id }) => id.toString('hex'));
}

/**
 * Each purpose has its own derived key, so a MAC for one purpose is never valid for another. Derived keys are cached
 * without limit: purposes are constants in the code, never request data.
 */
function createKey(secret: string): Key {
  const derived = new Map<string, Buffer>();
  const hmacs = new Map<string, ReturnType<typeof createHmacSha256>>();
  const keyFor = (purpose: string) => {
    const known = derived.get(purpose);
    if (known) return known;
    const key = Buffer.from(hkdfSync('sha256', secret, '', `gatehouse ${purpose}`, 32));
    derived.set(purpose, key);
    return key;
  };
  const hmacFor = (purpose: string) => {
    const hmac = createHmacSha256(keyFor(purpose));
    hmacs.set(purpose, hmac);
    return hmac;
  };
  return {
    id: keyFor('key id').subarray(0, 4),
    keyFor,
    mac(purpose, ...parts) {
      const hmac = hmacs.get(purpose) ?? hmacFor(purpose);
      return Buffer.from(hmac(parts), 'latin1');
    },
  };
}

export function sign(keys: Keyring, purpose: string, text: string): string {
  return signatureBy(keys.signing, purpose, Buffer.from(text));
}

export function verifySignature(keys: Keyring, purpose: string, text: string, signature: string): boolean {
  const bytes = Buffer.from(text);
  return keys.all.some((key) => sameText(signatureBy(key, purpose, bytes), signature));
}

function signatureBy(key: Key, purpose: string, bytes: Buffer): string {
  return key.mac(purpose, bytes).toString('base64url');
}

/** For values that a browser sends back, in cookies and form fields. Signed, not encrypted. */
export function encodeSigned(keys: Keyring, purpose: string, value: object): string {
  const text = Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${text}.${sign(keys, purpose, text)}`;
}

export function decodeSigned<Value>(keys: Keyring, purpose: string, signed: string): Value | undefined {
  const [text = '', signature = '', ...more] = signed.split('.');
  if (more.length > 0 || !verifySignature(keys, purpose, text, signature)) return undefined;
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as Value;
}

const NONCE = 12;
const TAG = 16;

/** AES-256-GCM, for secrets that are stored and needed in plain text later. */
export function encrypt(keys: Keyring, purpose: string, secret: string): string {
  const nonce = newNonce(NONCE);
  const cipher = createCipheriv('aes-256-gcm', keys.signing.keyFor(purpose), nonce);
  const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return Buffer.concat([keys.signing.id, nonce, ciphertext]).toString('base64url');
}

/** The id of the key that encrypted it. */
export function encryptionKeyId(encrypted: string): Buffer {
  return Buffer.from(encrypted, 'base64url').subarray(0, 4);
}

/** Undefined if the key is no longer on the keyring, or if the text was changed. */
export function decrypt(keys: Keyring, purpose: string, encrypted: string): string | undefined {
  const bytes = Buffer.from(encrypted, 'base64url');
  const key = keys.find(bytes.subarray(0, 4));
  if (!key || bytes.length < 4 + NONCE + TAG) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key.keyFor(purpose), bytes.subarray(4, 4 + NONCE));
  decipher.setAuthTag(bytes.subarray(-TAG));
  try {
    return decipher.update(bytes.subarray(4 + NONCE, -TAG), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}

export const MIN_KEY_LENGTH = 32;

/** A random key of 32 hexadecimal digits compresses to 29 bytes or more, a repeated character or word to fewer than 24. */
const MIN_COMPRESSED_LENGTH = 24;

/** Whether a key has so little entropy that it could be guessed. */
export function isWeakKey(key: string): boolean {
  return deflateRawSync(key, { level: 9 }).length < MIN_COMPRESSED_LENGTH;
}

/** Keys are separated by commas or line ends. */
export function splitKeys(text: string): string[] {
  return text
    .trim()
    .split(/[,\n]/)
    .map((key) => key.trim());
}

/** Atomic: a reader sees the old file or the new one, even after a crash. */
export function moveKeyFile(from: string, to: string): void {
  renameSync(from, to);
  fsyncDirectory(dirname(to));
}

/** One key per line, mode 0600. Fails if the file exists. */
export function writeKeyFile(file: string, keys: readonly string[]): void {
  writeFileSync(file, `${keys.join('\n')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  fsyncDirectory(dirname(file));
}

/** A new directory entry is durable only once the directory is synced. */
export function fsyncDirectory(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

const BLOCK = 64;
const DIGEST = 32;
/** Longer messages are rare and get a buffer of their own. */
const USUAL_LENGTH = 192;

/**
 * HMAC-SHA-256 (RFC 2104) with one key for many short messages, as a latin1 string. `createHmac` with a `KeyObject` takes
 * three to four times as long for each (11 against 4 µs), and a refresh needs six.
 */
export function createHmacSha256(key: Uint8Array): (parts: Uint8Array[]) => string {
  if (key.length > BLOCK) throw new Error('A key is at most one block long.');
  const [inner, outer] = [padKey(key, 0x36, USUAL_LENGTH), padKey(key, 0x5c, DIGEST)];
  // Messages under one key mostly have one length, so the buffer is reused.
  let message = inner;
  return (parts) => {
    let length = BLOCK;
    for (const part of parts) length += part.length;
    if (length > inner.length) message = padKey(key, 0x36, length - BLOCK);
    else if (length !== message.length) message = inner.subarray(0, length);
    let offset = BLOCK;
    for (const part of parts) {
      message.set(part, offset);
      offset += part.length;
    }
    outer.write(hash('sha256', message, 'latin1'), BLOCK, 'latin1');
    return hash('sha256', outer, 'latin1');
  };
}

/** A block of the padded key, and room for `length` more bytes. */
function padKey(key: Uint8Array, pad: number, length: number): Buffer {
  const block = Buffer.alloc(BLOCK + length).fill(pad, 0, BLOCK);
  key.forEach((byte, index) => {
    block[index] = byte ^ pad;
  });
  return block;
}
