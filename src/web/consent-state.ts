import type { Session } from '../accounts/sessions.ts';
import { HOUR } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { decodeSigned, encodeSigned, type Keyring } from '../lib/keyring.ts';
import type { Scopes } from '../lib/scope-lists.ts';
import { hashSecret } from '../lib/secrets.ts';
import { forbidden } from './errors.ts';
import { type Form, text } from './forms.ts';

/** What the screen showed, in a signed field of its form. Valid only in the session that it was shown in. */
export interface ConsentState {
  query: string;
  session: string;
  grantId: string;
  businessId: string;
  /** The scopes on the screen. If the request has no `scope`, they depend on the scopes of the app, which can change. */
  scopes: Scopes;
  shownAt: number;
}

const LIFETIME = HOUR;

export function createConsentState(
  { session, ...state }: Pick<ConsentState, 'query' | 'businessId' | 'scopes'> & { session: Session },
  now: number,
): ConsentState {
  return { ...state, session: hashSecret(session.id), grantId: newId(now), shownAt: now };
}

export function signConsentState(keys: Keyring, state: ConsentState): string {
  return encodeSigned(keys, 'consent', state);
}

export function readConsentState(keys: Keyring, form: Form, session: Session): ConsentState {
  const state = decodeSigned<ConsentState>(keys, 'consent', text(form, 'consent_state'));
  if (state?.session === hashSecret(session.id)) return state;
  throw forbidden('This form belongs to another session, or has been changed. Go back to the app.');
}

export function isExpired({ shownAt }: ConsentState, now: number): boolean {
  return now - shownAt >= LIFETIME;
}
