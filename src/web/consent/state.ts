import type { Session } from '../../accounts/sessions.ts';
import { HOUR } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import { decodeSigned, encodeSigned, type Keyring } from '../../lib/keyring.ts';
import type { Scopes } from '../../lib/scope-lists.ts';
import { hashSecret } from '../../lib/secrets.ts';
import type { AuthorizationRequest } from '../../oauth/authorize/request.ts';
import { forbidden } from '../errors.ts';
import { type Form, text } from '../forms.ts';

/** What the screen showed, in a signed field of its form. Valid only in the session that it was shown in. */
export interface ConsentState {
  query: string;
  session: string;
  grantId: string;
  businessId: string;
  /** The scopes on the screen. If the request has no `scope`, they depend on the scopes of the app, which can change. */
  scopes: Scopes;
  /** The name on the screen. The settings or the metadata document of the app can change. */
  appName: string;
  redirectUri: string;
  shownAt: number;
}

interface ShownRequest extends Pick<ConsentState, 'query' | 'businessId' | 'scopes'> {
  authRequest: AuthorizationRequest;
  session: Session;
}

const LIFETIME = HOUR;

export function createConsentState({ session, authRequest, ...state }: ShownRequest, now: number): ConsentState {
  const { app, callback } = authRequest;
  const target = { appName: app.name, redirectUri: callback.redirectUri };
  return { ...state, ...target, session: hashSecret(session.id), grantId: newId(now), shownAt: now };
}

/** Whether the screen named the app and the redirect URI of this request. */
export function hasSameTarget(
  { appName, redirectUri }: ConsentState,
  { app, callback }: AuthorizationRequest,
): boolean {
  return appName === app.name && redirectUri === callback.redirectUri;
}

export function signConsentState(keys: Keyring, state: ConsentState): string {
  return encodeSigned(keys, 'consent', state);
}

export function readConsentState(keys: Keyring, form: Form, session: Session): ConsentState {
  const state = decodeSigned<ConsentState>(keys, 'consent', text(form, 'consent_state'));
  if (state?.session === hashSecret(session.id)) return state;
  throw forbidden(({ errors }) => errors.foreignConsent);
}

export function isExpired({ shownAt }: ConsentState, now: number): boolean {
  return now - shownAt >= LIFETIME;
}
