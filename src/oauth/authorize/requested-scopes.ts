import type { App } from '../../apps/apps.ts';
import { formatScopes, parseScopes, type Scopes, scopesBeyond } from '../../lib/scope-lists.ts';
import { OAuthError } from '../errors.ts';
import { readScopes } from '../scopes.ts';

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
  }
  if (beyond.length > 0) {
    const list = app.ownerScope === 'external' ? 'scope of its client metadata' : "app's allowed scopes";
    problems.push(`The app is not registered for: ${formatScopes(beyond)}. Add it to the ${list}, or leave it out.`);
  }
  if (problems.length === 0) return scopes;
  const reason = unknown.length > 0 ? 'scope_unknown' : 'scope_not_registered';
  throw new OAuthError('invalid_scope', reason, problems.join(' '));
}
