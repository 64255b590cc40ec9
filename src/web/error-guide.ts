export interface Explanation {
  meaning: string;
  remedies: string[];
}

/** What each error means, and what its reader can do. Every code that we ever send has its entry here. */
const GUIDE = new Map<string, Explanation>([
  [
    'invalid_request',
    {
      meaning: 'The request is incomplete or malformed, so it was not looked at any further.',
      remedies: [
        'Send every required field exactly once, as text.',
        'Send application/json or application/x-www-form-urlencoded, at most 64 KiB, and use POST for token, revoke and introspect.',
        'Send credentials in the body or by HTTP Basic, not both ways.',
        'At the business API, send x-business-id once, with the UUID of the business.',
      ],
    },
  ],
  [
    'invalid_client',
    {
      meaning: 'No app has this client_id together with this client_secret.',
      remedies: [
        'Copy both from the app’s page under Settings, Developer, without spaces around them.',
        'If the secret is lost, add a second one there: the first goes on working until you remove it.',
      ],
    },
  ],
  [
    'invalid_grant',
    {
      meaning:
        'The code or refresh token cannot be used. The description says why; where the grant is dead, it ends in the reason’s name, for a program to look for.',
      remedies: [
        'A code works once and for 10 minutes, for the app and the redirect_uri it was issued to.',
        'A refresh token works until it is replaced; store the new one before you use it, and send only the newest.',
        'Where the user, the app or the membership has ended, send the user to the authorize endpoint again.',
      ],
    },
  ],
  [
    'unsupported_grant_type',
    {
      meaning: 'grant_type is not one that this server knows.',
      remedies: ['Send authorization_code or refresh_token.'],
    },
  ],
  [
    'unsupported_response_type',
    { meaning: 'response_type is not code.', remedies: ['Use the authorization code flow: response_type=code.'] },
  ],
  [
    'invalid_scope',
    {
      meaning: 'A scope is unknown, or goes beyond what the app is registered for or the user allowed.',
      remedies: [
        'Ask only for scopes that are allowed on the app’s page under Settings, Developer.',
        'A refresh may ask for fewer scopes than were allowed, never for more.',
      ],
    },
  ],
  [
    'access_denied',
    {
      meaning: 'The user chose Deny, or is not a member of a business that the app may act in.',
      remedies: ['Tell the user what the app needs and why, and let them try again when they want to.'],
    },
  ],
  [
    'login_required',
    {
      meaning: 'prompt=none was sent, and nobody is signed in.',
      remedies: ['Send the user to authorize without prompt=none.'],
    },
  ],
  [
    'consent_required',
    {
      meaning: 'prompt=none was sent, and the user has yet to allow something.',
      remedies: ['Send the user to authorize without prompt=none.'],
    },
  ],
  [
    'unauthorized',
    {
      meaning: 'The request carries no access token.',
      remedies: ['Send the header Authorization: Bearer <access token>.'],
    },
  ],
  [
    'invalid_token',
    {
      meaning: 'The access token is malformed, expired or revoked.',
      remedies: ['Refresh, and try once more with the new access token.', 'If the refresh fails, follow what it says.'],
    },
  ],
  [
    'insufficient_scope',
    {
      meaning: 'The token lacks the scope that this call needs.',
      remedies: ['Ask for the scope at the authorize endpoint; the user is then asked about what is new.'],
    },
  ],
  [
    'business_mismatch',
    {
      meaning: 'x-business-id names another business than the one the token acts in, or none at all.',
      remedies: ['Ask GET /api/v1/businesses which business the token acts in.'],
    },
  ],
  [
    'not_found',
    { meaning: 'There is nothing at this address.', remedies: ['See the reference for the paths of the API.'] },
  ],
  [
    'too_many_requests',
    { meaning: 'A rate limit has been reached.', remedies: ['Wait as many seconds as Retry-After says, then go on.'] },
  ],
  [
    'temporarily_unavailable',
    {
      meaning: 'The database cannot be reached.',
      remedies: ['Try again after as many seconds as Retry-After says. A refresh can be repeated safely.'],
    },
  ],
  [
    'server_error',
    {
      meaning: 'Something failed here that should not have.',
      remedies: ['Try again; if it lasts, tell the operator when it happened.'],
    },
  ],
]);

export function explainError(code: string): Explanation | undefined {
  return GUIDE.get(code);
}
