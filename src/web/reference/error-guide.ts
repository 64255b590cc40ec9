import type { GrantReason } from '../../grants/inactive-reasons.ts';
import type { ErrorCode, ReasonOf } from '../../http/errors.ts';

export interface Explanation {
  meaning: string;
  /** By the name of each reason: what happened, and what to do about it. */
  reasons: Record<string, string>;
}

const DEAD_GRANT: Record<GrantReason, string> = {
  revoked_by_app:
    'The app itself revoked the token, or the grant it belongs to. If users should come back, send them to the authorize endpoint.',
  disconnected_by_user: 'The user disconnected the app. Let them connect it again when they want to.',
  disconnected_by_owner:
    'An owner of the business disconnected the app, for this user or for everyone. Ask the business before you send the user ' +
    'to connect it again.',
  code_reused:
    'The code came twice, so what it first gave was revoked: someone may have copied it. Exchange each code once, and do not ' +
    'repeat an exchange whose answer was lost. Send the user to the authorize endpoint again.',
  code_verifier_wrong:
    'The `code_verifier` is not the one that the `code_challenge` was made of, and that used the code up. Keep the verifier with ' +
    'the browser that you sent away, and start again.',
  refresh_token_reused:
    'A refresh token came back after it had been replaced and its successor had been used, so the grant was revoked: someone may ' +
    'have copied it. Store each new pair before you use it, look into the store before you refresh, and send the user to the ' +
    'authorize endpoint again.',
  app_deleted: 'The app was deleted. Nothing of it works any more.',
  app_paused:
    'The platform has paused the app everywhere. Whoever runs it can resume the app, and its tokens work again with it.',
  app_disabled: 'The app is disabled. Whoever registered it can enable it again, and its tokens work again with it.',
  app_closed: 'The app’s owner closed it to businesses other than its own.',
  user_disabled: 'The user who allowed the app is disabled. Another member of the business can connect it.',
  member_removed: 'The user who allowed the app is no longer a member of the business. Another member can connect it.',
  password_reset:
    'The password of the user was reset, and every grant from before was ended. Let the user connect the app again.',
  backup_restored:
    'The server was restored from a backup, and every grant from before was ended. Let the user connect the app again.',
};

/** What each error means and, for every reason, what its reader can do. The types leave none out. */
const GUIDE: { [Code in ErrorCode]: Explanation & { reasons: Record<ReasonOf<Code>, string> } } = {
  invalid_request: {
    meaning: 'The request is incomplete or malformed, so it was not looked at any further.',
    reasons: {
      field_missing: 'A required field or parameter is absent or empty. The description names it.',
      field_repeated: 'A field or parameter was sent more than once. The description names it: send it exactly once.',
      field_not_text: 'A field is a number, a list, an object or null. Send every field as text.',
      value_not_allowed: 'A parameter has a value that it cannot have. The description lists the ones it can.',
      body_malformed:
        'The body is neither one JSON object nor a form. Check its quotes and commas, and that the Content-Type says what it is.',
      body_too_large: 'The body is over 64 KiB. No request needs that much.',
      content_type_unsupported: 'Send `application/json` or `application/x-www-form-urlencoded`.',
      method_not_allowed: 'This address exists, for other methods. The header `Allow` lists them.',
      request_unreadable: 'The request is not sound HTTP: look at its first line and its headers.',
      credentials_sent_twice: 'The app’s credentials are in the body and in the Authorization header. Choose one.',
      token_in_address:
        'The access token is also in the address, where logs and histories keep it. Send it in the Authorization header only, and ' +
        'revoke this one.',
      business_id_malformed:
        'Send the header `x-business-id` once, with the UUID of the business. `GET /api/v1/businesses` says which it is.',
      pkce_required: 'The app is set to require PKCE. Send `code_challenge` and `code_challenge_method=S256`.',
      pkce_malformed:
        'PKCE takes `code_challenge_method=S256` and a `code_challenge` of 43 characters: the base64url, without padding, of the ' +
        'SHA-256 of the verifier.',
    },
  },
  invalid_client: {
    meaning: 'It is not certain which app sent this.',
    reasons: {
      credentials_missing: 'Send `client_id` and `client_secret` in the body, or by HTTP Basic.',
      credentials_malformed:
        'The Authorization header is not HTTP Basic: `Basic` and the base64 of client_id, a colon and client_secret, each ' +
        'form-encoded.',
      credentials_wrong:
        'No app has this `client_id` together with this `client_secret`. Copy both from the app’s page under Settings, ' +
        'Developer, without spaces around them. If the secret is lost, add a second one there: the first goes on working until ' +
        'you remove it.',
    },
  },
  invalid_grant: {
    meaning: 'The code or refresh token cannot be used.',
    reasons: {
      token_unknown:
        'This server did not issue it, it was cut short on its way, or it ended so long ago that nothing is known of it. Check ' +
        'that the whole text was stored, and that it belongs to this server.',
      token_of_another_kind:
        'A code starts with `gac_`, an access token with `gat_`, a refresh token with `grt_`. Send the right one.',
      token_of_another_app: 'It was issued to another app. Use the credentials of the app that it belongs to.',
      code_expired: 'A code lives 10 minutes. Exchange it as soon as it arrives; send the user to authorize again.',
      code_verifier_missing:
        'The authorize request had a `code_challenge`, so the exchange needs its `code_verifier`. The code is used up; start again.',
      code_verifier_unexpected:
        'A `code_verifier` came, but the authorize request had no `code_challenge`. The code is used up; start again with both.',
      redirect_uri_different:
        'The exchange must repeat the `redirect_uri` of the authorize request to the letter. The code still works.',
      refresh_token_expired:
        'A refresh token lives 30 days from its issue. Refresh now and then while the app is in use; send the user to authorize again.',
      ...DEAD_GRANT,
    },
  },
  unsupported_grant_type: {
    meaning: 'This server does not know that `grant_type`.',
    reasons: { unsupported_grant_type: 'Send `authorization_code` or `refresh_token`.' },
  },
  unsupported_response_type: {
    meaning: 'This server does not know that `response_type`.',
    reasons: { unsupported_response_type: 'Use the authorization code flow: `response_type=code`.' },
  },
  invalid_scope: {
    meaning: 'Something was asked for that cannot be given.',
    reasons: {
      scope_unknown: 'No scope has that name. The reference lists them; separate several with spaces.',
      scope_not_registered:
        'The app is not registered for it. Add it to the allowed scopes on the app’s page under Settings, Developer.',
      scope_not_allowed:
        'A refresh may ask for fewer scopes than the user allowed, never for more. Ask for more at the authorize endpoint.',
    },
  },
  access_denied: {
    meaning: 'The user cannot or does not want to let the app in.',
    reasons: {
      denied_by_user:
        'The user chose Deny. Tell them what the app needs and why, and let them try again when they want to.',
      not_a_member:
        'The user is not a member of a business that the app may act in. A private app acts in its own business only; its owner ' +
        'can open it to any.',
    },
  },
  login_required: {
    meaning: 'Nobody is signed in, and `prompt=none` forbids asking.',
    reasons: { login_required: 'Send the user to authorize without `prompt=none`.' },
  },
  consent_required: {
    meaning: 'The user has yet to allow something, and `prompt=none` forbids asking.',
    reasons: { consent_required: 'Send the user to authorize without `prompt=none`.' },
  },
  unauthorized_client: {
    meaning: 'The credentials are right, and the app may not make this call.',
    reasons: { app_paused: DEAD_GRANT.app_paused },
  },
  unauthorized: {
    meaning: 'The request carries no access token.',
    reasons: { token_missing: 'Send the header `Authorization: Bearer <access token>`.' },
  },
  invalid_token: {
    meaning: 'The access token does not work, or not any more.',
    reasons: {
      token_malformed: 'The header reads `Authorization: Bearer <access token>`, with nothing after it.',
      token_unknown: 'This server did not issue it, or it was cut short on its way.',
      token_of_another_kind: 'An access token starts with `gat_`. A code or a refresh token opens nothing here.',
      access_token_expired: 'An access token lives 1 hour. Refresh, and try once more with the new one.',
      ...DEAD_GRANT,
    },
  },
  insufficient_scope: {
    meaning: 'The token lacks the scope that this call needs.',
    reasons: {
      insufficient_scope: 'Ask for the scope at the authorize endpoint; the user is then asked about what is new.',
    },
  },
  business_mismatch: {
    meaning: '`x-business-id` names another business than the one that the token acts in, or one that does not exist.',
    reasons: { business_mismatch: 'Ask `GET /api/v1/businesses` which business the token acts in.' },
  },
  not_found: {
    meaning: 'There is nothing at this address.',
    reasons: { not_found: 'Compare the path with the reference, to the letter.' },
  },
  too_many_requests: {
    meaning: 'A rate limit has been reached.',
    reasons: { too_many_requests: 'Wait as many seconds as `Retry-After` says, then go on.' },
  },
  temporarily_unavailable: {
    meaning: 'The database cannot be reached, or there is more to do than can be done.',
    reasons: {
      temporarily_unavailable:
        'Try again after as many seconds as `Retry-After` says. A refresh can be repeated safely with the same refresh token.',
    },
  },
  server_error: {
    meaning: 'Something failed here that should not have.',
    reasons: { server_error: 'Try again; if it lasts, tell the operator the `x-request-id` of the answer.' },
  },
};

export const ERROR_CODES = Object.keys(GUIDE);

export function explainError(code: string): Explanation | undefined {
  return Object.hasOwn(GUIDE, code) ? GUIDE[code as ErrorCode] : undefined;
}
