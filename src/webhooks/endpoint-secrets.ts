import { decrypt, encrypt, type Keyring } from '../lib/keyring.ts';
import { sha256 } from '../lib/secrets.ts';
import type { Row } from '../storage/tables.ts';

const PURPOSE = 'endpoint secret';

export interface ReencryptedSecret {
  id: string;
  /** The value that is stored now. */
  from: string;
  to: Pick<Row<'endpoints'>, 'secret' | 'old_secret'>;
}

export function encryptSecret(keys: Keyring, secret: string): string {
  return encrypt(keys, PURPOSE, secret);
}

/** Encrypts the same secret with the current key. Undefined if the key that encrypted it is missing. */
export function reencrypt(keys: Keyring, encrypted: string): string | undefined {
  const secret = decrypt(keys, PURPOSE, encrypted);
  return secret === undefined ? undefined : encrypt(keys, PURPOSE, secret);
}

/** Identifies a secret in a form without revealing it. */
export function fingerprint(encrypted: string): string {
  return sha256(encrypted);
}

/** The current secret, and the previous one while both sign. Empty if the key that encrypted them is missing. */
export function secretsOf(keys: Keyring, row: Row<'endpoints'>, now: number): string[] {
  const encrypted = [row.secret, (row.old_secret_until ?? 0) > now ? row.old_secret : null];
  return encrypted.flatMap((text) => (text === null ? [] : (decrypt(keys, PURPOSE, text) ?? [])));
}
