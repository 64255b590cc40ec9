import type { Consent } from '../../grants/consents.ts';
import { type ScopeMask, scopesBeyond } from '../../grants/scopes.ts';
import type { AuthorizationRequest } from './request.ts';

type Asked = Pick<AuthorizationRequest, 'scopes' | 'optionalScopes'>;

/** What the app cannot do without. */
function requiredScopes({ scopes, optionalScopes }: Asked): ScopeMask {
  return scopesBeyond(scopes, optionalScopes);
}

/** What the user has yet to decide. An optional scope that was once left out is decided; a required one never is by that. */
export function undecidedScopes(asked: Asked, { allowed, declined }: Consent): ScopeMask {
  return scopesBeyond(requiredScopes(asked), allowed) | scopesBeyond(asked.optionalScopes, allowed | declined);
}

/** What may be granted without a question: all that is required and, of the rest, what was allowed. Else nothing. */
export function scopesAllowedBefore(asked: Asked, { allowed }: Consent): ScopeMask {
  return scopesBeyond(requiredScopes(asked), allowed) === 0 ? asked.scopes & allowed : 0;
}

/** The answer of a screen on which these were ticked. What was not on it cannot be had by ticking it. */
export function chooseScopes(asked: Asked, ticked: ScopeMask): Consent {
  const allowed = requiredScopes(asked) | (asked.optionalScopes & ticked);
  return { allowed, declined: scopesBeyond(asked.scopes, allowed) };
}
