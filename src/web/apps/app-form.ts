import type { AppSettings } from '../../apps/apps.ts';
import { type Html, html } from '../../lib/html.ts';
import { readScopes, SCOPES } from '../../oauth/scopes.ts';
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
    redirectUris: text(form, 'redirect_uris').split(/\r?\n/),
    allowedScopes: readScopes(list(form, 'scope')).scopes,
    openToAnyBusiness: section.canOpenToAnyBusiness && text(form, 'open_to_any_business') === 'yes',
    requiresPkce: text(form, 'requires_pkce') === 'yes',
  };
}

export function appFields(app: AppSettings, section: AppSection, problem?: Problem): Html {
  const wrong = (field: string) => problem?.field === field;
  const uriHint =
    'One per line. https, or http on localhost. Users are redirected here after they allow or deny access.';
  return html`${input({ name: 'name', label: 'App name', value: app.name, hint: 'Shown to users on the consent screen.' }, problem)}
<div class="field">
<label for="redirect_uris">Redirect URIs</label>
<p class="hint" id="redirect_uris-hint">${uriHint}</p>
<textarea id="redirect_uris" name="redirect_uris" rows="3" required spellcheck="false" ${ariaAttributes('redirect_uris', { hint: uriHint, wrong: wrong('redirect_uris') })}>${app.redirectUris.join('\n')}</textarea>
${problem && wrong('redirect_uris') && problemText(problem)}
</div>
<fieldset class="field" ${ariaAttributes('scope', { wrong: wrong('scope') })}>
<legend>Allowed scopes</legend>
${problem && wrong('scope') && problemText(problem)}
${SCOPES.map(
  ({ name, meaning }) =>
    html`<label class="choice"><input type="checkbox" name="scope" value="${name}" ${app.allowedScopes.includes(name) && html`checked`}><span><code>${name}</code> ${meaning}</span></label>`,
)}
</fieldset>
${
  section.canOpenToAnyBusiness &&
  html`<fieldset class="field">
<legend>Who can connect it</legend>
<label class="choice"><input type="radio" name="open_to_any_business" value="no" ${!app.openToAnyBusiness && html`checked`}><span>Only this business.</span></label>
<label class="choice"><input type="radio" name="open_to_any_business" value="yes" ${app.openToAnyBusiness && html`checked`}><span>Any business. Each user connects it to their current business.</span></label>
</fieldset>`
}
<fieldset class="field">
<legend>Security</legend>
<label class="choice"><input type="checkbox" name="requires_pkce" value="yes" ${app.requiresPkce && html`checked`}><span>Require PKCE (RFC 7636) on every request. Off by default, because many clients send no code_challenge. If yours does, switch it on: an intercepted code is then useless.</span></label>
</fieldset>`;
}
