import type { App } from '../../apps/apps.ts';
import { formatScopes, parseScopes, type Scopes, scopesBeyond } from '../../lib/scope-lists.ts';
import { OAuthError } from '../errors.ts';
import { readScopes, SCOPES } from '../scopes.ts';

/** OpenID Connect Core §3.1.2.1, §5.4 and §11. */
const OPENID_SCOPES = new Set(['openid', 'profile', 'email', 'address', 'phone', 'offline_access']);
const NO_OPENID =
  'This is OAuth 2.0 without OpenID Connect: GET /api/v1/me returns the user, and every token response has a refresh token.';

/** The scopes that `scope` or `optional_scope` names. Spaces only are not a missing parameter, which would mean all scopes. */
export function readRequestedScopes(app: App, text: string | undefined): Scopes {
  if (text === undefined) return [];
  const names = parseScopes(text);
  if (names.length === 0) throw new OAuthError('invalid_scope', 'scope_unknown', 'Name a scope, or leave scope out.');
  const { scopes, unknown } = readScopes(names);
  const beyond = scopesBeyond(scopes, app.allowedScopes);
  const problems: string[] = [];
  if (unknown.length > 0) {
    const list = unknown.join(' ').slice(0, 200);
    const hint = list.includes(',') ? ' Separate scopes with spaces.' : '';
    problems.push(`Unknown scope: ${list}.${hint}`);
    if (unknown.some((name) => OPENID_SCOPES.has(name))) problems.push(NO_OPENID);
  }
  if (beyond.length > 0) {
    const list = app.ownerScope === 'external' ? 'scope of its client metadata' : "app's allowed scopes";
    problems.push(`The app is not registered for: ${formatScopes(beyond)}. Add it to the ${list}, or leave it out.`);
  }
  if (problems.length === 0) return scopes;
  if (unknown.length > 0) problems.push(`The scopes are: ${formatScopes(SCOPES.map(({ name }) => name))}.`);
  const reason = unknown.length > 0 ? 'scope_unknown' : 'scope_not_registered';
  throw new OAuthError('invalid_scope', reason, problems.join(' '));
}
