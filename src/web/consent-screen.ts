import { type Html, html } from '../lib/html.ts';
import type { AuthorizationRequest } from '../oauth/authorization-request.ts';
import { listScopes, type Scope, type ScopeMask } from '../oauth/scopes.ts';
import { boundBusiness } from '../oauth/tenancy.ts';
import { postForm } from './fields.ts';
import { businessSelect, type Page, type Place } from './layout.ts';

export interface ConsentQuestion {
  platformName: string;
  asked: AuthorizationRequest;
  /** Those of the requested scopes that the user has not allowed before. */
  toAsk: ScopeMask;
  ownerName: string;
  /** What is asked, sealed. */
  question: string;
  at: Place;
}

export function consentScreen({ platformName, asked, toAsk, ownerName, question, at }: ConsentQuestion): Page {
  const { app, callback, scopes } = asked;
  const businessName = at.current?.businessName ?? '';
  const isAddition = toAsk !== scopes;
  return {
    title: `Let ${app.name} into ${businessName}?`,
    platformName,
    width: 'narrow',
    body: html`<div class="card consent">
<div class="parties" aria-hidden="true"><span class="tile">${initial(app.name)}</span><span class="wire"></span><span class="tile business">${initial(businessName)}</span></div>
<h1>Let <strong>${app.name}</strong> into <strong>${businessName}</strong>?</h1>
<p class="muted">${app.name} is an app by ${ownerName}. It is not made by ${platformName}.</p>
${isAddition && html`<p class="notice">You have allowed this app before. What it asks for now and did not have is marked <span class="new">New</span>.</p>`}
${scopeList('What it may see', 'read', scopes, isAddition ? toAsk : 0)}
${scopeList('What it may change', 'write', scopes, isAddition ? toAsk : 0)}
${postForm({
  action: '/consent',
  csrf: at.csrf,
  body: html`<input type="hidden" name="question" value="${question}">
<input type="hidden" name="return_to" value="${at.path}">
<dl class="facts">
<div><dt>Business</dt><dd>${boundBusiness(app) === null ? businessChoice(at) : businessName}</dd></div>
<div><dt>Signed in as</dt><dd>${at.user.name}<br><span class="muted">${at.user.email}</span><br><a class="small" href="/sign-in?return_to=${encodeURIComponent(at.path)}">Use another account</a></dd></div>
<div><dt>You will be sent to</dt><dd><strong>${new URL(callback.redirectUri).host}</strong></dd></div>
</dl>
<div class="answers">
<button class="secondary" name="answer" value="deny">Deny</button>
<button class="primary" name="answer" value="allow">Allow</button>
</div>`,
})}
<p class="small muted">You can disconnect ${app.name} at any time under <a href="/settings/connected-apps">Connected apps</a>.</p>
</div>`,
  };
}

/** In the same form as Allow: what is chosen here is what is meant, whether or not Switch was clicked. */
function businessChoice(at: Place): Html {
  if (at.memberships.length < 2) return html`${at.current?.businessName}`;
  return html`<div class="switch">${businessSelect(at)}<button class="quiet" name="answer" value="switch">Switch</button></div>`;
}

function scopeList(heading: string, kind: Scope['kind'], scopes: ScopeMask, fresh: ScopeMask): Html | null {
  const listed = listScopes(scopes).filter((scope) => scope.kind === kind);
  const added = new Set(listScopes(fresh).map(({ name }) => name));
  if (listed.length === 0) return null;
  return html`<h2>${heading}</h2>
<ul class="scopes ${kind}">${listed.map(
    ({ name, meaning }) => html`<li>${meaning} ${added.has(name) && html`<span class="new">New</span>`}</li>`,
  )}</ul>`;
}

function initial(name: string): string {
  return [...name][0]?.toUpperCase() ?? '';
}
