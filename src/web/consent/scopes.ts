import type { Consent } from '../../grants/consents.ts';
import { undecidedScopes } from '../../grants/requested-scopes.ts';
import type { Texts } from '../../languages/en.ts';
import { type Html, html } from '../../lib/html.ts';
import { commonScopes, type Scopes, scopesBeyond } from '../../lib/scope-lists.ts';
import type { AuthorizationRequest } from '../../oauth/authorize/request.ts';
import { listScopes, meaningOf, type Scope } from '../../oauth/scopes.ts';
import { badge, bdi } from '../components/display.ts';
import { icon } from '../components/icon.ts';
import { ariaAttributes, problemText } from '../forms.ts';
import type { ConsentScreen } from './screen.ts';

/** The optional scopes that are ticked when the screen is opened. */
export function initiallyTicked({ app, optionalScopes }: AuthorizationRequest, { allowed, declined }: Consent): Scopes {
  if (app.ownerScope !== 'external') return scopesBeyond(optionalScopes, declined);
  // A call has failed because this scope was missing: the user can only choose between Allow and Deny.
  const undecided = scopesBeyond(optionalScopes, [...allowed, ...declined]);
  const isStepUp = undecided.length === 1 && scopesBeyond(optionalScopes, allowed).length === 1;
  if (isStepUp || optionalScopes.length === 1) return optionalScopes;
  // The platform has not checked the app, and it requests every scope: the user ticks scopes that write or are
  // sensitive.
  const isTicked = ({ name, kind, isSensitive }: Scope) =>
    allowed.includes(name) || (kind === 'read' && !isSensitive && !declined.includes(name));
  return listScopes(optionalScopes)
    .filter(isTicked)
    .map(({ name }) => name);
}

export function earlierConsent({ texts, authRequest, consent }: ConsentScreen): Html | null {
  if (!isAddition(authRequest, consent)) return null;
  const canNarrow = commonScopes(authRequest.optionalScopes, consent.allowed).length > 0;
  return html`<p class="notice">${texts.consent.allowedBefore(newMark(texts))}
${canNarrow && texts.consent.keepsUnticked}
${!canNarrow && authRequest.resource !== null && texts.consent.keeps}</p>`;
}

/** At an MCP server, the new grant also has the scopes that the user allowed before. */
function isAddition({ scopes, resource }: AuthorizationRequest, { allowed }: Consent): boolean {
  return (resource === null ? commonScopes(scopes, allowed) : allowed).length > 0;
}

/** The scopes that the app needs, and those that the user can choose. */
export function requestedScopes(screen: ConsentScreen): Html {
  const { app, optionalScopes } = screen.authRequest;
  const problem = screen.problem?.field === 'optional_scope' ? screen.problem : undefined;
  const required = scopesBeyond(screen.shown, optionalScopes);
  const optional = commonScopes(screen.shown, optionalScopes);
  const isExternal = app.ownerScope === 'external';
  const { texts } = screen;
  const { consent } = texts;
  const hint = optional.length > 0 ? consent[isExternal ? 'tickHint' : 'untickHint'] : undefined;
  const line = (scope: Scope) => scopeLine(scope, screen);
  return html`<fieldset class="field" ${ariaAttributes('optional_scope', { hint, wrong: problem !== undefined })}>
<legend class="visually-hidden">${consent.requestedScopes(bdi(app.name))}</legend>
<h2>${requiredTitle(texts, { isExternal, required, optional })}</h2>${permissionList(texts, required, line, profileRow(texts))}
${hint && html`<h2>${consent.choose}</h2><p class="hint" id="optional_scope-hint">${hint}</p>${permissionList(texts, optional, line)}`}
${problem && problemText(problem)}
</fieldset>`;
}

/** Every scope that an external app requests is optional, so required ones were allowed before. */
function requiredTitle(
  { consent }: Texts,
  { isExternal, required, optional }: { isExternal: boolean; required: Scopes; optional: Scopes },
): string {
  if (isExternal && required.length > 0) return consent.mayAlready;
  return optional.length > 0 ? consent.needs : consent.may;
}

/** Every app can read the name and email of its user, whatever its scopes. */
function profileRow({ consent }: Texts): Html {
  return html`<div><h3>${consent.profile}</h3><ul><li>${icon('eye')}<span>${consent.nameAndEmail}</span></li></ul></div>`;
}

function scopeLine(scope: Scope, screen: ConsentScreen): Html {
  const { texts, authRequest, consent, ticked } = screen;
  const { name } = scope;
  const isNew = isAddition(authRequest, consent) && undecidedScopes(authRequest, consent).includes(name);
  const text = scopeText(texts, scope, isNew && newMark(texts));
  if (!authRequest.optionalScopes.includes(name)) return html`<li>${kindIcon(scope)}${text}</li>`;
  return html`<li><label class="choice"><input type="checkbox" name="optional_scope" value="${name}" ${ticked.includes(name) && html`checked`}>${text}</label></li>`;
}

function newMark({ consent }: Texts): Html {
  return html`<span class="new">${consent.new}</span>`;
}

function scopeText(texts: Texts, scope: Scope, mark: Html | false): Html {
  const sensitive = scope.isSensitive && html`${badge(texts.consent.sensitive, 'caution')} `;
  return html`<span>${meaningOf(texts, scope)} ${sensitive}${mark}</span>`;
}

function kindIcon({ kind }: Scope): Html {
  return icon(kind === 'read' ? 'eye' : 'pencil');
}

/** Without a choice. */
export function plainPermissions(texts: Texts, scopes: Scopes): Html {
  return permissionList(texts, scopes, (scope) => html`<li>${kindIcon(scope)}${scopeText(texts, scope, false)}</li>`);
}

/** Grouped by resource, in the order of the scopes. */
function permissionList(texts: Texts, names: Scopes, line: (scope: Scope) => Html, first: Html | null = null): Html {
  const scopes = listScopes(names);
  const resources = [...new Set(scopes.map(resourceOf))];
  const hasSensitive = scopes.some(({ isSensitive }) => isSensitive);
  return html`<div class="permissions">${first}${resources.map((resource) => {
    const group = scopes.filter((scope) => resourceOf(scope) === resource);
    return html`<div><h3>${titleOf(texts, resource)}${accessOf(texts, group)}</h3><ul>${group.map(line)}</ul></div>`;
  })}</div>
${hasSensitive && html`<p class="hint">${texts.consent.sensitiveHint}</p>`}`;
}

function resourceOf({ name }: Scope): string {
  return name.slice(name.indexOf(':') + 1);
}

function titleOf({ resources }: Texts, resource: string): string {
  if (Object.hasOwn(resources, resource)) return resources[resource as keyof Texts['resources']];
  return resource.slice(0, 1).toUpperCase() + resource.slice(1).replaceAll(/[-_]/g, ' ');
}

/** Only for resources that the app can change: the lines of the others say that it can view them. */
function accessOf({ consent }: Texts, scopes: Scope[]): Html | null {
  const canView = scopes.some(({ kind }) => kind === 'read');
  const canEdit = scopes.some(({ kind }) => kind === 'write');
  return canEdit ? html`<span class="muted small"> ${canView ? consent.viewAndEdit : consent.edit}</span>` : null;
}
