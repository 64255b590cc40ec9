import type { Consent } from '../grants/consents.ts';
import { undecidedScopes } from '../grants/requested-scopes.ts';
import { type Html, html } from '../lib/html.ts';
import { commonScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import type { AuthorizationRequest } from '../oauth/authorize/request.ts';
import { listScopes, type Scope } from '../oauth/scopes.ts';
import { badge } from './components/display.ts';
import { icon } from './components/icon.ts';
import type { ConsentScreen } from './consent-screen.ts';
import { ariaAttributes, problemText } from './forms.ts';

/** The optional scopes that are ticked when the screen is opened. */
export function tickedAtFirst({ app, optionalScopes }: AuthorizationRequest, { allowed, declined }: Consent): Scopes {
  if (app.ownerScope !== 'external') return scopesBeyond(optionalScopes, declined);
  // A call has failed for want of this scope: there is nothing to choose but Allow and Deny.
  const undecided = scopesBeyond(optionalScopes, [...allowed, ...declined]);
  const isStepUp = undecided.length === 1 && scopesBeyond(optionalScopes, allowed).length === 1;
  if (isStepUp || optionalScopes.length === 1) return optionalScopes;
  // Nobody has checked the app, and it asks for all that exists: changes, staff and money are for the user to tick.
  const isTicked = ({ name, kind, isSensitive }: Scope) =>
    allowed.includes(name) || (kind === 'read' && !isSensitive && !declined.includes(name));
  return listScopes(optionalScopes)
    .filter(isTicked)
    .map(({ name }) => name);
}

export function earlierConsent({ authRequest, consent }: ConsentScreen): Html | null {
  if (!isAddition(authRequest, consent)) return null;
  const canNarrow = commonScopes(authRequest.optionalScopes, consent.allowed).length > 0;
  return html`<p class="notice">You have allowed this app before. What it asks for in addition is marked <span class="new">New</span>.
${canNarrow && html`It keeps what you allowed before until you disconnect it, even if you untick it here.`}
${!canNarrow && authRequest.resource !== null && html`It keeps what you allowed before until you disconnect it.`}</p>`;
}

/** At a resource of its own, the new grant has what was allowed before, too. */
function isAddition({ scopes, resource }: AuthorizationRequest, { allowed }: Consent): boolean {
  return (resource === null ? commonScopes(scopes, allowed) : allowed).length > 0;
}

/** Those that the app needs, and those that the user chooses. */
export function requestedScopes(screen: ConsentScreen): Html {
  const { app, optionalScopes } = screen.authRequest;
  const problem = screen.problem?.field === 'optional_scope' ? screen.problem : undefined;
  const required = scopesBeyond(screen.shown, optionalScopes);
  const optional = commonScopes(screen.shown, optionalScopes);
  const isExternal = app.ownerScope === 'external';
  const hint = optional.length > 0 ? hintOf(isExternal) : undefined;
  const line = (scope: Scope) => scopeLine(scope, screen);
  return html`<fieldset class="field" ${ariaAttributes('optional_scope', { hint, wrong: problem !== undefined })}>
<legend class="visually-hidden">What ${app.name} asks for</legend>
${required.length > 0 && html`<h2>${requiredTitle(isExternal, optional)}</h2>${permissionList(required, line)}`}
${hint && html`<h2>What you choose</h2><p class="hint" id="optional_scope-hint">${hint}</p>${permissionList(optional, line)}`}
${problem && problemText(problem)}
</fieldset>`;
}

function hintOf(isExternal: boolean): string {
  return isExternal
    ? 'Tick what it may do. It can ask again when it needs more.'
    : 'Untick what you do not want to allow. The app works without it.';
}

/** All that an external app asks for is optional, so the rest is from before. */
function requiredTitle(isExternal: boolean, optional: Scopes): string {
  if (isExternal) return 'What it may do already';
  return optional.length > 0 ? 'What it needs' : 'What it may do';
}

function scopeLine(scope: Scope, screen: ConsentScreen): Html {
  const { authRequest, consent, ticked } = screen;
  const { name } = scope;
  const isNew = isAddition(authRequest, consent) && undecidedScopes(authRequest, consent).includes(name);
  const text = scopeText(scope, isNew && html`<span class="new">New</span>`);
  if (!authRequest.optionalScopes.includes(name)) return html`<li>${kindIcon(scope)}${text}</li>`;
  return html`<li><label class="choice"><input type="checkbox" name="optional_scope" value="${name}" ${ticked.includes(name) && html`checked`}>${text}</label></li>`;
}

function scopeText({ meaning, isSensitive }: Scope, mark: Html | false): Html {
  return html`<span>${meaning} ${isSensitive && html`${badge('Sensitive', 'caution')} `}${mark}</span>`;
}

function kindIcon({ kind }: Scope): Html {
  return icon(kind === 'read' ? 'eye' : 'pencil');
}

/** Without a choice. */
export function plainPermissions(scopes: Scopes): Html {
  return permissionList(scopes, (scope) => html`<li>${kindIcon(scope)}${scopeText(scope, false)}</li>`);
}

/** Grouped by resource, in the order of the scopes. */
function permissionList(names: Scopes, line: (scope: Scope) => Html): Html {
  const scopes = listScopes(names);
  const resources = [...new Set(scopes.map(resourceOf))];
  const isAnySensitive = scopes.some(({ isSensitive }) => isSensitive);
  return html`<div class="permissions">${resources.map((resource) => {
    const group = scopes.filter((scope) => resourceOf(scope) === resource);
    return html`<div><h3>${titleOf(resource)}<span class="muted small"> ${accessOf(group)}</span></h3><ul>${group.map(line)}</ul></div>`;
  })}</div>
${isAnySensitive && html`<p class="hint">Sensitive: about staff or the money of the business.</p>`}`;
}

function resourceOf({ name }: Scope): string {
  return name.slice(name.indexOf(':') + 1);
}

function titleOf(resource: string): string {
  return resource.slice(0, 1).toUpperCase() + resource.slice(1).replaceAll(/[-_]/g, ' ');
}

function accessOf(scopes: Scope[]): string {
  const canSee = scopes.some(({ kind }) => kind === 'read');
  const canChange = scopes.some(({ kind }) => kind === 'write');
  if (canSee && canChange) return 'See and change';
  return canChange ? 'Change' : 'See';
}
