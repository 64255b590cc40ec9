import type { App } from '../../../apps/apps.ts';
import { FormError } from '../../../lib/errors.ts';
import { type Html, html } from '../../../lib/html.ts';
import { formatScopes, type Scopes } from '../../../lib/scope-lists.ts';
import { sha256 } from '../../../lib/secrets.ts';
import { listScopes } from '../../../oauth/scopes.ts';
import { ariaAttributes, type Form, type Problem, postForm, problemText, text } from '../../forms.ts';
import { frame, type Playground, sample } from './layout.ts';
import { curlText } from './requests.ts';
import type { PlaygroundState } from './state.ts';

export interface AuthorizeChoices {
  scopes: Scopes;
  redirectUri: string;
}

/** What to ask for, and where the answer should go. */
export function startBody(playground: Playground, { scopes, redirectUri }: AuthorizeChoices, problem?: Problem): Html {
  const { app, path, viewer } = playground;
  const wrong = (field: string) => problem?.field === field && problemText(problem);
  return frame(
    playground,
    'authorize',
    html`<p class="muted">Walk through the flow for real, one request at a time, as yourself. You see what is sent and what comes back.</p>
${problem?.field === 'walk' && html`<p class="notice" role="alert">${problem.message}</p>`}
${(app.disabledAt ?? app.pausedAt) !== null && html`<p class="notice">The app is stopped, so every request will be refused for now. See for yourself, or start it first.</p>`}
${postForm({
  action: `${path}/try`,
  csrf: viewer.context.csrf,
  style: 'card',
  body: html`<h2>Ask a user</h2>
<fieldset class="field" ${ariaAttributes('scope', { wrong: problem?.field === 'scope' })}>
<legend>Scopes to ask for</legend>
${wrong('scope')}
${listScopes(app.allowedScopes).map(
  ({ name, meaning }) =>
    html`<label class="choice"><input type="checkbox" name="scope" value="${name}" ${scopes.includes(name) && html`checked`}><span><code>${name}</code> ${meaning}</span></label>`,
)}
</fieldset>
<fieldset class="field" ${ariaAttributes('redirect_uri', { wrong: problem?.field === 'redirect_uri' })}>
<legend>Redirect URI to come back to</legend>
${wrong('redirect_uri')}
${app.redirectUris.map(
  (uri) =>
    html`<label class="choice"><input type="radio" name="redirect_uri" value="${uri}" ${uri === redirectUri && html`checked`}><span><code>${uri}</code>${uri === playground.returnAddress && ' This page: the answer comes back here by itself.'}</span></label>`,
)}
</fieldset>
<button class="primary">Show me the request</button>`,
})}
${returnCard(playground, problem)}`,
  );
}

/** The app's own address gets the answer, unless its owner lets this page have it. */
function returnCard({ app, path, viewer, returnAddress }: Playground, problem?: Problem): Html {
  const isIn = app.redirectUris.includes(returnAddress);
  return html`<section class="card"><h2>Come back by itself</h2>
<p>${
    isIn
      ? 'This page is one of the app’s redirect URIs. Remove it when you have finished trying.'
      : 'An answer goes to a redirect URI of the app, and you copy it from there. Or make this page one of them, and the answer comes here.'
  }</p>
<p><code>${returnAddress}</code></p>
${problem?.field === 'redirect_uris' && problemText(problem)}
${postForm({
  action: `${path}/try/return-address`,
  csrf: viewer.context.csrf,
  body: html`<input type="hidden" name="answer" value="${isIn ? 'remove' : 'add'}">
<button class="secondary">${isIn ? 'Remove it from the redirect URIs' : 'Add it to the redirect URIs'}</button>`,
})}</section>`;
}

const MEANINGS: Record<string, string> = {
  response_type: 'You want a code.',
  client_id: 'The app.',
  redirect_uri: 'Where the answer goes. It has to be registered, to the letter.',
  scope: 'What the app wants to do.',
  state:
    'Made up for this one request, and repeated in the answer: that is how your app knows its own. Yours can be shorter.',
  code_challenge: 'The SHA-256 of a secret that is sent with the code later: PKCE.',
  code_challenge_method: 'No other method is supported.',
};

/** The request that a browser makes, before it is made. `state` is the walk itself. */
export function authorizeBody(
  playground: Playground,
  progress: PlaygroundState,
  state: string,
  again?: { pasted: string; problem: Problem },
) {
  const url = authorizeUrl(playground.issuer, progress, state);
  const comesBack = progress.redirectUri === playground.returnAddress;
  const query = Object.entries(authorizeQuery(progress, state));
  return frame(
    playground,
    'authorize',
    html`<section class="card"><h2>Send the browser to the authorize endpoint</h2>
<p>Your app redirects its user to <code>${playground.issuer}/api/v1/oauth/authorize</code>. There is no secret in the address.</p>
<dl class="facts">${query.map(([name, value]) => html`<div><dt><code>${name}</code></dt><dd><code>${value}</code><br><span class="muted small">${MEANINGS[name]}</span></dd></div>`)}</dl>
<details><summary>As curl</summary>
<p class="small">It shows the first answer, a 303 to the page that asks the user. The rest needs a browser.</p>
${sample('curl-authorize', curlText({ method: 'GET', url, headers: [] }))}</details>
<p>${
      comesBack
        ? html`<a class="button primary" href="${url}">Go there</a>`
        : html`<a class="button primary" href="${url}" target="_blank" rel="noopener">Go there in a new tab</a>`
    }</p>
</section>
${!comesBack && pasteCard(playground, state, again)}`,
  );
}

function pasteCard({ path, viewer }: Playground, state: string, again?: { pasted: string; problem: Problem }): Html {
  const hint =
    'Your app may say that it does not know the state: it did not send this request, so it is right. The address still has the code.';
  return postForm({
    action: `${path}/try/callback`,
    csrf: viewer.context.csrf,
    style: 'card',
    body: html`<h2>Paste the address that you were sent to</h2>
<input type="hidden" name="walk" value="${state}">
<div class="field"><label for="pasted">Address, or the code in it</label>
<p class="hint" id="pasted-hint">${hint}</p>
<textarea id="pasted" name="pasted" rows="3" required spellcheck="false" autocomplete="off" ${ariaAttributes('pasted', { hint, wrong: again !== undefined })}>${again?.pasted}</textarea>
${again && problemText(again.problem)}</div>
<button class="primary">Go on</button>`,
  });
}

/** The answer has come while its owner acts for another business, in which the app is not theirs. */
export function switchBody(app: App, back: { businessId: string; businessName: string; csrf: string; url: string }) {
  return html`<div class="card"><h1>You act for another business now</h1>
<p>${app.name} belongs to ${back.businessName}, and is only there to be tried. Nothing is lost: the answer is still in the address of this page.</p>
${postForm({
  action: '/settings/current-business',
  csrf: back.csrf,
  body: html`<input type="hidden" name="business" value="${back.businessId}">
<input type="hidden" name="return_to" value="${back.url}">
<button class="primary">Go on as ${back.businessName}</button>`,
})}</div>`;
}

/** What the browser is sent to the authorize endpoint with (RFC 6749 §4.1.1, RFC 7636 §4.3). */
function authorizeQuery(progress: PlaygroundState, state: string): Record<string, string> {
  return {
    response_type: 'code',
    client_id: progress.appId,
    redirect_uri: progress.redirectUri,
    scope: formatScopes(progress.scopes),
    state,
    code_challenge: sha256(progress.verifier),
    code_challenge_method: 'S256',
  };
}

function authorizeUrl(issuer: string, progress: PlaygroundState, state: string): string {
  return `${issuer}/api/v1/oauth/authorize?${new URLSearchParams(authorizeQuery(progress, state))}`;
}

/** How an authorize request was answered. */
export interface Callback {
  code: string;
  /** Empty where the code was pasted alone. */
  iss: string;
  error: string;
  description: string;
  errorUri: string;
}

const NAMES = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri'];
const LONGEST = 500;
const CODE = /^[\x21-\x7e]+$/;

/** Undefined where it is no answer at all, or says something twice. */
export function readCallback(query: Form): Callback | undefined {
  if (NAMES.some((name) => Array.isArray(query[name]))) return undefined;
  const read = (name: string) => text(query, name).slice(0, LONGEST);
  const [code, error] = [read('code'), read('error')];
  if (!CODE.test(code) && error === '') return undefined;
  return { code, iss: read('iss'), error, description: read('error_description'), errorUri: read('error_uri') };
}

/** The query of an answer that someone has copied: the whole address at which their browser ended, or the code. */
export function readPasted(pasted: string, state: string): URLSearchParams {
  const typed = pasted.trim();
  if (!typed.includes('=')) {
    if (CODE.test(typed) && typed.length <= LONGEST) return new URLSearchParams({ code: typed, state });
    throw new FormError('pasted', 'Paste the whole address that your browser was sent to, or the code in it.');
  }
  const query = new URLSearchParams(typed.replace(/^[^?]*\?/, '').replace(/#.*$/s, ''));
  const answer = new URLSearchParams([...query].filter(([name]) => NAMES.includes(name)));
  if (!readCallback(Object.fromEntries(answer))) {
    throw new FormError('pasted', 'There is neither a code nor an error in this address.');
  }
  if (answer.get('state') !== state) {
    throw new FormError(
      'pasted',
      'The state is not the one that was sent, so this is an answer to something else. Your app has to stop here, too.',
    );
  }
  return answer;
}
