import type { Session } from '../../accounts/sessions.ts';
import { hasAllowedApp } from '../../grants/allowed-apps.ts';
import { type AuthorizationRequest, rejection } from '../../oauth/authorize/request.ts';
import { CallbackError, type OAuthError, type UntrustedRequest } from '../../oauth/errors.ts';
import type { WebDeps } from '../deps.ts';
import { PageError } from '../errors.ts';

/**
 * For an error before the user has decided. Anyone can make a link with an external app of theirs and any redirect URI, so a
 * redirect to it would be an open one (RFC 9700 §4.11.2): a user who has never allowed the app gets a page.
 */
export async function refusal(
  { storage, clock }: WebDeps,
  { app, callback }: AuthorizationRequest,
  { user }: Session,
  error: OAuthError,
): Promise<CallbackError | UntrustedRequest | PageError> {
  const parties = { userId: user.id, appId: app.id };
  const isRegisteredHere = app.ownerScope !== 'external';
  if (isRegisteredHere || (await hasAllowedApp(storage.durable, parties, clock())))
    return new CallbackError(callback, error);
  // The user can sign in with another account.
  if (error.reason === 'not_a_member') return new PageError(403, ({ errors }) => errors.notAMember);
  return rejection(app, callback, error);
}
