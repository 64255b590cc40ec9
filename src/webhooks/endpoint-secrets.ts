import { decrypt, encrypt, type Keyring } from '../lib/keyring.ts';
import { sha256 } from '../lib/secrets.ts';
import type { Row } from '../storage/tables.ts';

const PURPOSE = 'endpoint secret';

export interface Resealed {
  id: string;
  /** What was stored as the secret before. */
  from: string;
  to: Pick<Row<'endpoints'>, 'secret' | 'old_secret'>;
}

export function concealSecret(keys: Keyring, secret: string): string {
  return encrypt(keys, PURPOSE, secret);
}

/** The same secret under the key that signs now; undefined if the key is gone that kept it. */
export function concealAnew(keys: Keyring, concealed: string): string | undefined {
  const secret = decrypt(keys, PURPOSE, concealed);
  return secret === undefined ? undefined : encrypt(keys, PURPOSE, secret);
}

/** Says which secret a form is about, without telling anything of it. */
export function markOf(concealed: string): string {
  return sha256(concealed);
}

/** What signs: the secret, and the one before it for as long as both do. None, if the key is gone that kept them. */
export function secretsOf(keys: Keyring, row: Row<'endpoints'>, now: number): string[] {
  const concealed = [row.secret, (row.old_secret_until ?? 0) > now ? row.old_secret : null];
  return concealed.flatMap((text) => (text === null ? [] : (decrypt(keys, PURPOSE, text) ?? [])));
}
