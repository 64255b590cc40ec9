import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { newHmac } from './hmac.ts';
import { newNonce, sameText } from './secrets.ts';

export interface Key {
  /** Four bytes that name the key without telling anything about it. */
  id: Buffer;
  keyFor(purpose: string): Buffer;
  /** As many characters as there are bytes (latin1). */
  mac(purpose: string, ...parts: Uint8Array[]): string;
}

/** The first key signs, all of them verify: so a key can be replaced while what the old one signed still holds. */
export interface Keyring {
  signing: Key;
  find(id: Uint8Array): Key | undefined;
  all: Key[];
}

export function createKeyring(secrets: readonly string[]): Keyring {
  const all = secrets.map(openKey);
  const signing = all[0];
  if (!signing) throw new Error('A keyring needs at least one key.');
  return { signing, all, find: (id) => all.find((key) => key.id.equals(id)) };
}

/**
 * Every purpose has a key of its own, so that a MAC made for one can never pass for another. A derived key is kept for
 * good: purposes are the few that the code names, never something that comes with a request.
 */
function openKey(secret: string): Key {
  const derived = new Map<string, Buffer>();
  const hmacs = new Map<string, ReturnType<typeof newHmac>>();
  const keyFor = (purpose: string) => {
    const known = derived.get(purpose);
    if (known) return known;
    const key = Buffer.from(hkdfSync('sha256', secret, '', `gatehouse ${purpose}`, 32));
    derived.set(purpose, key);
    return key;
  };
  return {
    id: keyFor('key id').subarray(0, 4),
    keyFor,
    mac(purpose, ...parts) {
      const hmac = hmacs.get(purpose) ?? newHmac(keyFor(purpose));
      hmacs.set(purpose, hmac);
      return hmac(parts);
    },
  };
}

export function sign(keys: Keyring, purpose: string, text: string): string {
  return signatureBy(keys.signing, purpose, Buffer.from(text));
}

export function isSigned(keys: Keyring, purpose: string, text: string, signature: string): boolean {
  const bytes = Buffer.from(text);
  return keys.all.some((key) => sameText(signatureBy(key, purpose, bytes), signature));
}

function signatureBy(key: Key, purpose: string, bytes: Buffer): string {
  return Buffer.from(key.mac(purpose, bytes), 'latin1').toString('base64url');
}

/** A value that travels through a browser and comes back unchanged, or not at all. It is signed, not hidden. */
export function seal(keys: Keyring, purpose: string, value: object): string {
  const text = Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${text}.${sign(keys, purpose, text)}`;
}

export function unseal<Value>(keys: Keyring, purpose: string, sealed: string): Value | undefined {
  const [text = '', signature = '', ...more] = sealed.split('.');
  if (more.length > 0 || !isSigned(keys, purpose, text, signature)) return undefined;
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as Value;
}

const NONCE = 12;
const TAG = 16;

/** A secret that has to be known again later, unreadable where it is stored. */
export function conceal(keys: Keyring, purpose: string, secret: string): string {
  const nonce = newNonce(NONCE);
  const cipher = createCipheriv('aes-256-gcm', keys.signing.keyFor(purpose), nonce);
  const hidden = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return Buffer.concat([keys.signing.id, nonce, hidden]).toString('base64url');
}

/** The id of the key that concealed it. */
export function keyIdOf(concealed: string): Buffer {
  return Buffer.from(concealed, 'base64url').subarray(0, 4);
}

/** Undefined if the key that concealed it is gone, or if it was changed. */
export function reveal(keys: Keyring, purpose: string, concealed: string): string | undefined {
  const bytes = Buffer.from(concealed, 'base64url');
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
