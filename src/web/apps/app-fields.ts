import type { AppSettings } from '../../apps/apps.ts';
import { MAX_URIS } from '../../apps/redirect-uris.ts';
import { type Html, html } from '../../lib/html.ts';
import type { Scopes } from '../../lib/scope-lists.ts';
import { readScopes, SCOPES, type Scope } from '../../oauth/scopes.ts';
import { icon } from '../components/icon.ts';
import { type Settings, table } from '../components/structure.ts';
import { ariaAttributes, type Form, input, list, type Problem, problemText, text } from '../forms.ts';
import type { AppSection } from './app-page.ts';

export const emptyApp: AppSettings = {
  name: '',
  redirectUris: [],
  allowedScopes: [],
  openToAnyBusiness: false,
  requiresPkce: false,
};

/** What was submitted, valid or not, so that the form can show it again. */
export function readAppForm(form: Form, section: AppSection): AppSettings {
  return {
    name: text(form, 'name'),
    redirectUris: list(form, 'redirect_uris').flatMap((row) => row.split(/\r?\n/)),
    allowedScopes: readScopes(list(form, 'scope')).scopes,
    openToAnyBusiness: section.canOpenToAnyBusiness && text(form, 'open_to_any_business') === 'yes',
    requiresPkce: text(form, 'requires_pkce') === 'yes',
  };
}

interface SectionOptions {
  problem: Problem | undefined;
  /** Further fields of the last section. */
  more: Html | undefined;
}

/** The sections of the form of an app. */
export function appSections(app: AppSettings, section: AppSection, { problem, more }: SectionOptions): Settings[] {
  const name = { name: 'name', label: 'App name', value: app.name };
  const canOpen = section.canOpenToAnyBusiness;
  const parts: (Settings | false)[] = [
    { title: 'Name', intro: 'Shown to users on the consent screen.', body: input(name, problem) },
    {
      title: 'Redirect URIs',
      intro: 'Users are redirected here after they allow or deny access.',
      body: redirectUriFields(app.redirectUris, problem),
    },
    {
      title: 'Scopes',
      intro: 'The scopes that the app can request. Users see their descriptions, not their names.',
      body: scopeFields(app.allowedScopes, problem),
    },
    (canOpen || more !== undefined) && {
      title: canOpen ? 'Access and security' : 'Security',
      intro: canOpen && 'Who can connect it, and how it is protected.',
      body: html`${canOpen && openField(app)}${more}`,
    },
  ];
  return parts.filter((part) => part !== false);
}

const MIN_ROWS = 3;
const EMPTY_ROWS = 2;

/** With some empty rows, so that the form works without a script, which shows only one of them and a button for more. */
function redirectUriFields(uris: string[], problem: Problem | undefined): Html {
  const wrong = problem?.field === 'redirect_uris' ? problem : undefined;
  const last = uris.findLastIndex((uri) => uri.trim() !== '') + 1;
  const count = Math.min(MAX_URIS, Math.max(MIN_ROWS, last + EMPTY_ROWS));
  const rows = Array.from({ length: Math.max(count, last) }, (_, i) => ({
    uri: uris[i] ?? '',
    problem: wrong?.rows?.[i],
  }));
  const hint = 'https, or http on localhost.';
  // Each invalid row shows its own error.
  const isWhole = wrong !== undefined && wrong.rows === undefined;
  return html`<fieldset class="field" ${ariaAttributes('redirect_uris', { hint, wrong: isWhole })}>
<legend class="visually-hidden">Redirect URIs</legend>
<p class="hint" id="redirect_uris-hint">${hint}</p>
${wrong && isWhole && problemText(wrong)}
<div data-rows="${String(MAX_URIS)}">${rows.map(redirectUriRow)}</div>
<p class="hint below">${last > 0 && 'Leave a row empty to remove it.'}<noscript> Save to add more rows.</noscript></p>
<button type="button" class="quiet" data-add-row hidden>${icon('plus')}Add URI</button>
</fieldset>`;
}

function redirectUriRow({ uri, problem }: { uri: string; problem: string | undefined }, index: number): Html {
  const id = `redirect_uris-${index + 1}`;
  const wrong = problem === undefined ? undefined : { field: id, message: sentenceOf(problem) };
  return html`<div class="uri-row"><input id="${id}" name="redirect_uris" type="text" inputmode="url" value="${uri}" autocomplete="off" spellcheck="false" aria-label="Redirect URI ${index + 1}" ${ariaAttributes(id, { wrong: wrong !== undefined })}>
${wrong && problemText(wrong)}</div>`;
}

function sentenceOf(problem: string): string {
  return problem.slice(0, 1).toUpperCase() + problem.slice(1);
}

/** A row for each resource, in the order of the scopes. */
function scopeFields(chosen: Scopes, problem: Problem | undefined): Html {
  const wrong = problem?.field === 'scope' ? problem : undefined;
  const resources = [...new Set(SCOPES.map(resourceOf))];
  return html`<fieldset class="field" ${ariaAttributes('scope', { wrong: wrong !== undefined })}>
<legend class="visually-hidden">Allowed scopes</legend>
${wrong && problemText(wrong)}
<div class="scope-table">${table({
    label: 'Allowed scopes',
    columns: ['Resource', 'Read', 'Write'],
    rows: resources.map((resource) => [
      html`<strong>${sentenceOf(resource)}</strong>`,
      ...(['read', 'write'] as const).map((kind) => {
        const scopes = SCOPES.filter((scope) => resourceOf(scope) === resource && scope.kind === kind);
        return scopes.length === 0 ? '' : html`${scopes.map((scope) => scopeChoice(scope, chosen))}`;
      }),
    ]),
  })}</div>
</fieldset>`;
}

function resourceOf({ name }: Scope): string {
  return name.slice(name.indexOf(':') + 1);
}

function scopeChoice({ name, meaning }: Scope, chosen: Scopes): Html {
  return html`<label class="choice"><input type="checkbox" name="scope" value="${name}" ${chosen.includes(name) && html`checked`}><span><code>${name}</code><br><span class="muted small">${meaning}</span></span></label>`;
}

function openField({ openToAnyBusiness }: AppSettings): Html {
  return html`<fieldset class="field">
<legend>Who can connect it</legend>
<label class="choice"><input type="radio" name="open_to_any_business" value="no" ${!openToAnyBusiness && html`checked`}><span>Only this business.</span></label>
<label class="choice"><input type="radio" name="open_to_any_business" value="yes" ${openToAnyBusiness && html`checked`}><span>Any business. Each user connects it to their current business.</span></label>
</fieldset>`;
}

/** Not for a public app, which always requires PKCE. */
export function pkceField(app: AppSettings): Html {
  return html`<fieldset class="field">
<legend>Security</legend>
<label class="choice"><input type="checkbox" name="requires_pkce" value="yes" ${app.requiresPkce && html`checked`}><span>Require PKCE (RFC 7636) on every request. Off by default, because many clients send no code_challenge. If yours does, switch it on: an intercepted code is then useless.</span></label>
</fieldset>`;
}
