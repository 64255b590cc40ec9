import { FormError } from '../../../lib/errors.ts';
import { type Html, html } from '../../../lib/html.ts';
import { formatScopes, type Scopes } from '../../../lib/scope-lists.ts';
import { sha256 } from '../../../lib/secrets.ts';
import { listScopes } from '../../../oauth/scopes.ts';
import { codeBlock, copyButton, notice } from '../../components/display.ts';
import { section, settings, settingsForm } from '../../components/structure.ts';
import { ariaAttributes, type Form, type Problem, postForm, problemText, text } from '../../forms.ts';
import { frame, type Playground } from './layout.ts';
import { curlText } from './requests.ts';
import type { PlaygroundState } from './steps.ts';

export interface AuthorizeChoices {
  scopes: Scopes;
  redirectUri: string;
}

export function startBody(playground: Playground, { scopes, redirectUri }: AuthorizeChoices, problem?: Problem): Html {
  const { app, path, viewer } = playground;
  const wrong = (field: string) => (problem?.field === field ? problem : undefined);
  return frame(
    playground,
    { step: 'authorize' },
    html`<p class="muted">Run the real flow as yourself, one request at a time, and see each request and response.</p>
${problem?.field === 'playground_state' && html`<p class="notice" role="alert">${problem.message}</p>`}
${(app.disabledAt ?? app.pausedAt) !== null && notice('The app is disabled or paused, so every request will be rejected until it is enabled again.')}
${postForm({
  action: `${path}/try`,
  csrf: viewer.context.csrf,
  style: 'card',
  body: settingsForm(
    [
      {
        title: 'Scopes to request',
        intro: 'The permissions that the consent screen lists.',
        body: scopeField(playground, scopes, wrong('scope')),
      },
      {
        title: 'Redirect URI',
        intro: 'Where the response goes.',
        body: redirectField(playground, redirectUri, wrong('redirect_uri')),
      },
    ],
    html`<button class="primary">Show the request</button>`,
  ),
})}
${returnCard(playground, problem)}`,
  );
}

function scopeField({ app }: Playground, scopes: Scopes, problem: Problem | undefined): Html {
  return html`<fieldset class="field" ${ariaAttributes('scope', { wrong: problem !== undefined })}>
<legend class="visually-hidden">Scopes to request</legend>
${problem && problemText(problem)}
${listScopes(app.allowedScopes).map(
  ({ name, meaning }) =>
    html`<label class="choice"><input type="checkbox" name="scope" value="${name}" ${scopes.includes(name) && html`checked`}><span><code>${name}</code> <span class="muted small">${meaning}</span></span></label>`,
)}
</fieldset>`;
}

function redirectField({ app, returnAddress }: Playground, chosen: string, problem: Problem | undefined): Html {
  return html`<fieldset class="field" ${ariaAttributes('redirect_uri', { wrong: problem !== undefined })}>
<legend class="visually-hidden">Redirect URI</legend>
${problem && problemText(problem)}
${app.redirectUris.map(
  (uri) =>
    html`<label class="choice"><input type="radio" name="redirect_uri" value="${uri}" ${uri === chosen && html`checked`}><span><code>${uri}</code>${uri === returnAddress && html`<br><span class="muted small">This page: the response arrives here automatically.</span>`}</span></label>`,
)}
</fieldset>`;
}

/** Adds or removes this page as a redirect URI of the app. */
function returnCard({ app, path, viewer, returnAddress }: Playground, problem?: Problem): Html {
  const isIn = app.redirectUris.includes(returnAddress);
  const body = html`<p><code>${returnAddress}</code></p>
${problem?.field === 'redirect_uris' && problemText(problem)}
${postForm({
  action: `${path}/try/return-address`,
  csrf: viewer.context.csrf,
  body: html`<input type="hidden" name="change" value="${isIn ? 'remove' : 'add'}">
<button>${isIn ? 'Remove it from the redirect URIs' : 'Add it to the redirect URIs'}</button>`,
})}`;
  return settings({
    title: 'Return here automatically',
    intro: isIn
      ? 'This page is one of the app’s redirect URIs. Remove it when you have finished.'
      : 'The response goes to a redirect URI of the app, and you copy it from there. If you add this page as a redirect URI, the response arrives here.',
    body,
  });
}

const MEANINGS: Record<string, string> = {
  response_type: 'Requests an authorization code.',
  client_id: 'Identifies the app.',
  redirect_uri: 'Where the response goes. It must be a registered URI; on 127.0.0.1, only the port may differ.',
  scope: 'The permissions that the app requests.',
  state:
    'A random value, returned in the response, by which your app recognizes its own request. Yours can be shorter.',
  code_challenge: 'PKCE: the SHA-256 hash of a secret that is sent later, with the code.',
  code_challenge_method: 'No other method is supported.',
};

/** The authorize request, before it is sent. Its `state` is the encrypted PlaygroundState. */
export function authorizeBody(
  playground: Playground,
  progress: PlaygroundState,
  state: string,
  again?: { pasted: string; problem: Problem },
) {
  const url = authorizeUrl(playground.issuer, progress, state);
  const returnsHere = progress.redirectUri === playground.returnAddress;
  const query = Object.entries(authorizeQuery(progress, state));
  return frame(
    playground,
    { step: 'authorize' },
    html`${section({
      title: 'Send the browser to the authorize endpoint',
      intro: html`Your app redirects its user to <code>${playground.issuer}/api/v1/oauth/authorize</code>. The URL contains no secret.`,
      body: html`<dl class="facts">${query.map(([name, value]) => html`<div><dt><code>${name}</code></dt><dd><span class="copyable"><code class="clipped" id="query-${name}">${value}</code>${copyButton(` ${name}`, { id: `query-${name}` })}</span><span class="muted small">${MEANINGS[name]}</span></dd></div>`)}</dl>
<details><summary>As curl</summary>
<p class="small">This shows the first response, a 303 to the consent page. The rest needs a browser.</p>
${codeBlock({ id: 'curl-authorize', code: curlText({ method: 'GET', url, headers: [] }), label: 'As curl' })}</details>
<p>${
        returnsHere
          ? html`<a class="button primary" href="${url}">Open the authorize URL</a>`
          : html`<a class="button primary" href="${url}" target="_blank" rel="noopener">Open the authorize URL in a new tab</a>`
      }</p>`,
    })}
${!returnsHere && pasteCard(playground, state, again)}`,
  );
}

function pasteCard({ path, viewer }: Playground, state: string, again?: { pasted: string; problem: Problem }): Html {
  const hint = 'Your app may reject the state, because it did not send this request. The URL still contains the code.';
  const form = postForm({
    action: `${path}/try/callback`,
    csrf: viewer.context.csrf,
    body: html`<input type="hidden" name="playground_state" value="${state}">
<div class="field"><label for="pasted">URL, or the code in it</label>
<p class="hint" id="pasted-hint">${hint}</p>
<textarea id="pasted" name="pasted" rows="3" required spellcheck="false" autocomplete="off" ${ariaAttributes('pasted', { hint, wrong: again !== undefined })}>${again?.pasted}</textarea>
${again && problemText(again.problem)}</div>
<button class="primary">Continue</button>`,
  });
  return settings({
    title: 'Paste the URL you were redirected to',
    intro: 'It contains the code, which is exchanged next.',
    body: form,
  });
}

/** The parameters of the authorize request (RFC 6749 §4.1.1, RFC 7636 §4.3). */
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

/** The response to an authorize request. */
export interface Callback {
  code: string;
  /** Empty if only the code was pasted. */
  iss: string;
  error: string;
  description: string;
  errorUri: string;
}

const NAMES = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri'];
const MAX_LENGTH = 500;
const CODE = /^[\x21-\x7e]+$/;

/** Undefined if the query is not an authorize response, or repeats a parameter. */
export function readCallback(query: Form): Callback | undefined {
  if (NAMES.some((name) => Array.isArray(query[name]))) return undefined;
  const read = (name: string) => text(query, name).slice(0, MAX_LENGTH);
  const [code, error] = [read('code'), read('error')];
  if (!CODE.test(code) && error === '') return undefined;
  return { code, iss: read('iss'), error, description: read('error_description'), errorUri: read('error_uri') };
}

/** Reads what the user pasted: the whole URL their browser was redirected to, or only the code. */
export function readPasted(pasted: string, state: string): URLSearchParams {
  const typed = pasted.trim();
  if (!typed.includes('=')) {
    if (CODE.test(typed) && typed.length <= MAX_LENGTH) return new URLSearchParams({ code: typed, state });
    throw new FormError('pasted', 'Paste the whole URL that your browser was redirected to, or the code in it.');
  }
  const query = new URLSearchParams(typed.replace(/^[^?]*\?/, '').replace(/#.*$/s, ''));
  const response = new URLSearchParams([...query].filter(([name]) => NAMES.includes(name)));
  if (!readCallback(Object.fromEntries(response))) {
    throw new FormError('pasted', 'This URL contains neither a code nor an error.');
  }
  if (response.get('state') !== state) {
    throw new FormError(
      'pasted',
      'The state is not the one that was sent, so this response belongs to another request. Your app must reject it, too.',
    );
  }
  return response;
}
