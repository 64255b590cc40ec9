import { MINUTE } from '../../../lib/clock.ts';
import { decrypt, encrypt, type Keyring } from '../../../lib/keyring.ts';
import type { Scopes } from '../../../lib/scope-lists.ts';
import { hashSecret } from '../../../lib/secrets.ts';

/** How far someone has come in trying an app. */
export interface PlaygroundState {
  appId: string;
  redirectUri: string;
  scopes: Scopes;
  /** What PKCE proves the asker by (RFC 7636 §4.1). */
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
 * It travels through its owner's browser, as the `state` of the request and then in forms, and nothing of it is stored
 * here. Concealed and not just sealed: the verifier is in it, and later a secret and tokens.
 */
export function encryptState({ keys, session }: StateOwner, progress: PlaygroundState, now: number): string {
  const payload: EncryptedState = { session: hashSecret(session.id), at: now, progress };
  return encrypt(keys, 'try it', JSON.stringify(payload));
}

/** Undefined if it was changed, was kept too long ago, or belongs to another session. */
export function decryptState({ keys, session }: StateOwner, text: string, now: number): PlaygroundState | undefined {
  const revealed = decrypt(keys, 'try it', text);
  if (revealed === undefined) return undefined;
  const { session: of, at, progress } = JSON.parse(revealed) as EncryptedState;
  return of === hashSecret(session.id) && now - at < LIFETIME ? progress : undefined;
}
