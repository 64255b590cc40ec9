import { commonScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import type { Consent } from './consents.ts';

type ScopeDecision = Pick<Consent, 'allowed' | 'declined'>;

/** The scopes of an authorize request. */
interface RequestedScopes {
  scopes: Scopes;
  /** The scopes that the user may leave out. */
  optionalScopes: Scopes;
}

function requiredScopes({ scopes, optionalScopes }: RequestedScopes): Scopes {
  return scopesBeyond(scopes, optionalScopes);
}

/** The scopes that the user has yet to decide about. Declining counts as a decision only about an optional scope. */
export function undecidedScopes(requested: RequestedScopes, { allowed, declined }: ScopeDecision): Scopes {
  const decided = [...allowed, ...commonScopes(requested.optionalScopes, declined)];
  return scopesBeyond(requested.scopes, decided);
}

/** What can be granted without a consent screen. Empty if a required scope has not been allowed before. */
export function scopesAllowedBefore(requested: RequestedScopes, { allowed }: ScopeDecision): Scopes {
  const missing = scopesBeyond(requiredScopes(requested), allowed);
  return missing.length === 0 ? commonScopes(requested.scopes, allowed) : [];
}

/** The decision on a screen with these boxes ticked. A box that was not on the screen adds nothing. */
export function chooseScopes(requested: RequestedScopes, ticked: Scopes): ScopeDecision {
  const allowed = commonScopes(requested.scopes, [...requiredScopes(requested), ...ticked]);
  return { allowed, declined: scopesBeyond(requested.scopes, allowed) };
}
