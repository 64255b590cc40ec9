import type { ErrorCode, ReasonOf } from '../../http/errors.ts';
import { INACTIVE_GRANT } from './inactive-grant-guide.ts';

export interface Explanation {
  meaning: string;
  /** By reason: what happened and what to do. */
  reasons: Record<string, string>;
}

/** The type requires an entry for every code and reason. */
const GUIDE: { [Code in ErrorCode]: Explanation & { reasons: Record<ReasonOf<Code>, string> } } = {
  invalid_request: {
    meaning: 'The request is incomplete or malformed.',
    reasons: {
      field_missing: 'A required field or parameter is absent or empty. The description names it.',
      field_repeated: 'A field or parameter was sent more than once. The description names it: send it exactly once.',
      field_not_text: 'A field of the endpoint is a number, a list, an object or null. Send it as text.',
      value_not_allowed: 'A parameter has a value that is not allowed. The description lists the allowed values.',
      body_malformed:
        'The body is neither one JSON object nor a form. Check its quotes and commas, that the Content-Type ' +
        'matches the body, and that no field is called `__proto__`.',
      body_too_large:
        'The body is larger than 64 KiB, or than 512 KiB if it creates or changes a record with a list, such as an invoice.',
      content_type_unsupported: 'Send `application/json` or `application/x-www-form-urlencoded`.',
      method_not_allowed: 'This path does not support the method. The header `Allow` lists the supported methods.',
      request_unreadable:
        'The request is not valid HTTP, or its address is not valid percent-encoding: check its first line and its headers. ' +
        'With status 431 they are larger than 16 KiB. With status 408 the request did not arrive in time: send it again.',
      credentials_sent_twice:
        'The credentials are in the body and in the header, or the header was sent twice. Choose one.',
      token_in_address:
        'The access token is also in the URL, where logs and browser histories record it. Send it in the Authorization ' +
        'header only, and revoke this token.',
      business_id_malformed:
        'Send the header `x-business-id` once, with the UUID of the business. `GET /api/v1/businesses` returns it.',
      pkce_required: 'The app is set to require PKCE. Send `code_challenge` and `code_challenge_method=S256`.',
      pkce_malformed:
        'PKCE takes `code_challenge_method=S256` and a `code_challenge` of 43 characters: the base64url, without ' +
        'padding, of the SHA-256 of the verifier.',
      fields_invalid:
        'Some fields of the body cannot be accepted. `errors` lists each, up to 20, with its name and what is wrong: ' +
        'correct all of them and send the request again.',
      idempotency_key_malformed: 'An `Idempotency-Key` has 1 to 255 visible ASCII characters. A UUID is a good choice.',
      idempotency_key_reused:
        'The same `Idempotency-Key` was sent with another request within a day. Use a new key for each operation, and ' +
        'the same key only to repeat a request as it was.',
      if_match_malformed: 'Send `If-Match` with the `ETag` of the record as it was read, quotes included, or with `*`.',
      origin_not_allowed:
        'A web page from a disallowed origin called the MCP server. The operator lists allowed origins in `MCP_ALLOWED_ORIGINS`; clients outside a browser send no `Origin`.',
    },
  },
  invalid_client: {
    meaning: 'The app could not be authenticated.',
    reasons: {
      credentials_missing:
        'Send `client_id` and `client_secret` in the body, or by HTTP Basic. Only a public app has no secret.',
      credentials_malformed:
        'The Authorization header is not HTTP Basic: `Basic` and the base64 of client_id, a colon and client_secret, ' +
        'each form-encoded.',
      credentials_wrong:
        'No app has this `client_id` together with this `client_secret`. Copy both from the app’s page under Settings, ' +
        'Developer, without spaces around them. If the secret is lost, add a second one there: the first one works ' +
        'until you remove it.',
      app_is_public:
        'A public app has no secret; PKCE protects its codes. At the token and revoke endpoints it sends its `client_id` alone, ' +
        'without an Authorization header. It cannot introspect tokens or list events: anyone can send its `client_id`.',
    },
  },
  invalid_grant: {
    meaning: 'The code or refresh token cannot be used.',
    reasons: {
      token_unknown:
        'This server did not issue the token, the token was truncated, or its grant ended so long ago that it was ' +
        'removed. Check that the whole token was stored, and that it belongs to this server.',
      token_of_another_kind:
        'A code starts with `gac_`, an access token with `gat_`, a refresh token with `grt_`. Send the right one.',
      token_of_another_app: 'The token was issued to another app. Use the credentials of that app.',
      code_expired:
        'A code is valid for 10 minutes. Exchange it as soon as it arrives. Send the user to the authorize endpoint ' +
        'again.',
      redirect_uri_different:
        'The exchange must send exactly the `redirect_uri` of the authorize request. The code still works.',
      refresh_token_expired:
        'A refresh token is valid for 30 days. Refresh regularly while the app is in use. Send the user to the ' +
        'authorize endpoint again.',
      ...INACTIVE_GRANT,
    },
  },
  unsupported_grant_type: {
    meaning: 'This server does not support that `grant_type`.',
    reasons: { unsupported_grant_type: 'Send `authorization_code` or `refresh_token`.' },
  },
  unsupported_response_type: {
    meaning: 'This server does not support that `response_type`.',
    reasons: { unsupported_response_type: 'Use the authorization code flow: `response_type=code`.' },
  },
  invalid_scope: {
    meaning: 'A requested scope cannot be granted.',
    reasons: {
      scope_unknown:
        'No scope has that name, or none is named. The reference lists them; separate several with spaces. There is no OpenID Connect: `GET /api/v1/me` returns the user.',
      scope_not_registered:
        'The app is not registered for it. Add it to the allowed scopes on the app’s page under Settings, Developer.',
      scope_not_allowed:
        'A refresh may request fewer scopes than the user allowed, never more. Request more at the authorize endpoint.',
    },
  },
  invalid_target: {
    meaning: 'The token cannot be issued for the requested `resource`.',
    reasons: {
      resource_unknown:
        'This server has no such resource. The default is its business API; an MCP server is the other. Copy the URL from the ' +
        '`resource` of the protected resource metadata.',
      resource_repeated: 'The request names several resources. A token is for one: send a request for each.',
      resource_different:
        'The token request names another resource than the authorize request did. Send the same, or none. The code or refresh ' +
        'token still works.',
    },
  },
  invalid_redirect_uri: {
    meaning: 'A redirect URI cannot be used.',
    reasons: {
      redirect_uri_invalid:
        'At the authorize endpoint: the app has not registered this `redirect_uri`; every character counts. To register an ' +
        'app: send `redirect_uris`, a list of 1 to 20 URIs that start with `https:`, or with `http:` on this computer. Other schemes ' +
        'need the operator’s permission. Their query must not have a parameter of the response, such as `code`.',
    },
  },
  invalid_client_metadata: {
    meaning: 'The app cannot register with this metadata.',
    reasons: {
      client_metadata_invalid:
        'The description names the field. `client_name` is 1 to 80 visible characters; `grant_types` and `response_types`, if ' +
        'sent, include `authorization_code` and `code`.',
    },
  },
  access_denied: {
    meaning: 'The user denied the request or is not allowed to connect the app.',
    reasons: {
      denied_by_user: 'The user chose Deny. Explain what the app needs and why, and let them try again.',
      not_a_member:
        'The user is not a member of a business that the app may act in. A private app acts in its own business only; ' +
        'its owner can open it to all businesses.',
      approval_required:
        'The business allows only apps that an owner has approved. The user was shown how to ask for it; send them to the ' +
        'authorize endpoint again later.',
      app_refused:
        'An owner of the business has refused this app to this user, who was shown the reason. Send the user here again only ' +
        'if they ask for it.',
      app_blocked:
        'An owner of the business has blocked the app. Nobody there can connect it, until an owner unblocks it.',
      role_required:
        'Only owners and admins can connect apps to the business, or only its owners may allow a requested scope. One of them has ' +
        'to connect the app; or make the scope optional.',
    },
  },
  login_required: {
    meaning: 'The user is not signed in, and `prompt=none` does not allow a sign-in page.',
    reasons: { login_required: 'Send the user to the authorize endpoint without `prompt=none`.' },
  },
  consent_required: {
    meaning: 'The user has not allowed all requested scopes yet, and `prompt=none` does not allow a consent screen.',
    reasons: { consent_required: 'Send the user to the authorize endpoint without `prompt=none`.' },
  },
  unauthorized_client: {
    meaning: 'The credentials are valid, but the app may not make this call.',
    reasons: { app_paused: INACTIVE_GRANT.app_paused },
  },
  unauthorized: {
    meaning: 'The request has no access token.',
    reasons: { token_missing: 'Send the header `Authorization: Bearer <access token>`.' },
  },
  invalid_token: {
    meaning: 'The access token is invalid, expired or revoked.',
    reasons: {
      token_malformed: 'The header must be `Authorization: Bearer <access token>`, with nothing after the token.',
      token_unknown: 'This server did not issue the token, or the token was truncated.',
      token_of_another_kind: 'An access token starts with `gat_`. A code or a refresh token is not accepted here.',
      access_token_expired: 'An access token is valid for 1 hour. Refresh, and repeat the request with the new one.',
      access_token_revoked:
        'The app revoked this access token, and not its grant. Refresh, and repeat the request with the new one.',
      token_for_other_resource:
        'The token was issued for another resource of this server. Send the user to the authorize endpoint with the `resource` ' +
        'of this one; the business API is the default.',
      ...INACTIVE_GRANT,
    },
  },
  insufficient_scope: {
    meaning: 'The token lacks the scope that this call needs.',
    reasons: {
      insufficient_scope:
        'The user has not allowed the scope, the app left it out at a refresh, or it was removed from the app. Request it at the authorize endpoint; the user is then asked to allow it.',
    },
  },
  business_mismatch: {
    meaning: '`x-business-id` is not the business that the token acts in.',
    reasons: { business_mismatch: '`GET /api/v1/businesses` returns the business that the token acts in.' },
  },
  conflict: {
    meaning: 'The record is in a state that does not allow this.',
    reasons: {
      state_not_allowed:
        'The response has the current `state` and, in `allowed`, what is possible instead. An invoice, for example, can ' +
        'be updated only while it is a draft.',
    },
  },
  precondition_failed: {
    meaning: 'The record has changed since it was read.',
    reasons: {
      etag_mismatch:
        '`If-Match` names an older version of the record. Read it again, apply the change to what it is now, and send it ' +
        'with the new `ETag`.',
    },
  },
  not_found: {
    meaning: 'The path or the record does not exist.',
    reasons: {
      not_found:
        'Compare the path with the reference, and the id with a list: a record of another business is not found, either.',
    },
  },
  too_many_requests: {
    meaning: 'A rate limit has been reached. The description says which.',
    reasons: { too_many_requests: 'Wait for the number of seconds in `Retry-After`, then continue.' },
  },
  temporarily_unavailable: {
    meaning: 'The database cannot be reached, or the server is overloaded.',
    reasons: {
      temporarily_unavailable:
        'Try again after the number of seconds in `Retry-After`. A refresh can be repeated safely with the same ' +
        'refresh token.',
    },
  },
  server_error: {
    meaning: 'The server failed unexpectedly.',
    reasons: {
      server_error: 'Try again; if the error persists, send the operator the `x-request-id` of the response.',
    },
  },
};

export const ERROR_CODES = Object.keys(GUIDE);

export function explainError(code: string): Explanation | undefined {
  return Object.hasOwn(GUIDE, code) ? GUIDE[code as ErrorCode] : undefined;
}
