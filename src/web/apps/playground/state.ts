import { MINUTE } from '../../../lib/clock.ts';
import { decrypt, encrypt, type Keyring } from '../../../lib/keyring.ts';
import type { Scopes } from '../../../lib/scope-lists.ts';
import { hashSecret } from '../../../lib/secrets.ts';

/** What the playground knows after each step. */
export interface PlaygroundState {
  appId: string;
  redirectUri: string;
  scopes: Scopes;
  /** The PKCE code verifier (RFC 7636 §4.1). */
  verifier: string;
  code?: string | undefined;
  secret?: string;
  tokens?: { access: string; refresh: string };
  businessId?: string;
  hasEnded?: boolean;
}

interface EncryptedState {
  session: string;
  at: number;
  progress: PlaygroundState;
}

interface StateOwner {
  keys: Keyring;
  session: { id: string };
}

const LIFETIME = 30 * MINUTE;

/**
 * The state is not stored on the server: the browser sends it back, as the OAuth `state` and in forms. It is encrypted
 * and not only signed, because it contains the verifier and later the secret and the tokens.
 */
export function encryptState({ keys, session }: StateOwner, progress: PlaygroundState, now: number): string {
  const payload: EncryptedState = { session: hashSecret(session.id), at: now, progress };
  return encrypt(keys, 'try it', JSON.stringify(payload));
}

/** Undefined if it was modified, has expired, or belongs to another session. */
export function decryptState({ keys, session }: StateOwner, text: string, now: number): PlaygroundState | undefined {
  const decrypted = decrypt(keys, 'try it', text);
  if (decrypted === undefined) return undefined;
  const { session: owner, at, progress } = JSON.parse(decrypted) as EncryptedState;
  return owner === hashSecret(session.id) && now - at < LIFETIME ? progress : undefined;
}
