import { type Html, html } from '../../../lib/html.ts';
import { input, type Problem, postForm } from '../../forms.ts';
import type { Callback } from './authorize.ts';
import { frame, sample, type Trial } from './layout.ts';
import { type Answer, type Call, curlText, exportText, requestText } from './requests.ts';
import type { PlaygroundState } from './state.ts';
import { nextSteps, STEPS, type StepName } from './steps.ts';

/** Where someone stands: what they know, as they see it and as it travels. */
interface Standing {
  trial: Trial;
  walk: PlaygroundState;
  /** The same, concealed. */
  kept: string;
  problem?: Problem | undefined;
}

/** The answer to the authorize request, which a browser brought. */
export function callbackBody(standing: Standing, callback: Callback): Html {
  const { trial } = standing;
  if (callback.error !== '') return frame(trial, 'authorize', refusedCard(trial, callback));
  return frame(
    trial,
    'exchange',
    html`<section class="card"><h2>What came back</h2>
<dl class="facts">
<div><dt><code>code</code></dt><dd><code>${callback.code}</code></dd></div>
${
  callback.iss === ''
    ? html`<div><dt><code>state</code>, <code>iss</code></dt><dd>You pasted the code alone. Your app also has to compare the state with the one it sent.</dd></div>`
    : html`<div><dt><code>state</code></dt><dd>The one that was sent.</dd></div>
<div><dt><code>iss</code></dt><dd><code>${callback.iss}</code><br><span class="muted small">The server that was asked.</span></dd></div>`
}
</dl></section>
${stepCards(standing, ['exchange'])}`,
  );
}

function refusedCard(trial: Trial, { error, description, errorUri }: Callback): Html {
  return html`<section class="card"><h2>What came back</h2>
<dl class="facts"><div><dt><code>error</code></dt><dd><code>${error}</code></dd></div>
<div><dt><code>error_description</code></dt><dd>${description}</dd></div></dl>
${explanation(trial, errorUri)}
<p>There is no code, so your app explains to its user what happened, and lets them try again.</p>
${startAgain(trial)}</section>`;
}

interface Sent {
  name: StepName;
  call: Call;
  /** Undefined if nothing came back. */
  answer: Answer | undefined;
}

/** One request that was made, and what can be done next. */
export function stepBody(standing: Standing, { name, call, answer }: Sent): Html {
  const { trial, walk } = standing;
  const steps = nextSteps(walk, name);
  const next = answer ? steps : [name, ...steps.filter((step) => step !== name)];
  return frame(
    trial,
    name,
    html`<section class="card sent"><h2>${STEPS[name].title}</h2>
<h3>What was sent</h3>
${showCall('curl-sent', call)}
<h3>What came back</h3>
${answer ? showAnswer(trial, answer) : unreachable(trial)}
${walk.tokens && showTokens(walk.tokens)}
</section>
${walk.hasEnded && name === 'revoke' && html`<p class="notice">It has ended. See what your app is told from now on:</p>`}
${stepCards(standing, next)}
${startAgain(trial)}`,
  );
}

/** The form of a step could not be taken as it was filled in. */
export function retryBody(standing: Standing, name: StepName): Html {
  return frame(standing.trial, name, html`${stepCards(standing, [name])}${startAgain(standing.trial)}`);
}

function showAnswer(trial: Trial, { head, text, json }: Answer): Html {
  const uri = (json as { error_uri?: unknown } | null | undefined)?.error_uri;
  return html`<pre class="sample">${head}

${text}</pre>
${typeof uri === 'string' && explanation(trial, uri)}`;
}

function unreachable({ issuer }: Trial): Html {
  return html`<p class="notice" role="alert">This server could not reach ${issuer}, its own public address (BASE_URL), within 10 seconds. Whoever runs it can let it; until then, run the request from your own machine, as curl.</p>`;
}

function explanation({ issuer }: Trial, uri: string): Html {
  return html`${uri.startsWith(`${issuer}/`) && html`<p><a href="${uri}" target="_blank" rel="noopener">What this means, and what to do about it</a></p>`}`;
}

function showTokens({ access, refresh }: NonNullable<PlaygroundState['tokens']>): Html {
  const variables = { ACCESS_TOKEN: access, REFRESH_TOKEN: refresh };
  return html`<details><summary>Show the tokens in full, for curl</summary>
<p class="small">They are real: whoever has them can do what you allowed.</p>
${sample('tokens', exportText(variables))}</details>`;
}

/** The first is what an app would do next. */
function stepCards(standing: Standing, names: StepName[]): Html {
  return html`${names.map((name, place) => stepCard(standing, name, place === 0))}`;
}

function stepCard({ trial, walk, kept, problem }: Standing, name: StepName, isNext: boolean): Html {
  const { title, why, button, call } = STEPS[name];
  const hint = 'Used for these requests alone. It is not stored.';
  return postForm({
    action: `${trial.path}/try/${name}`,
    csrf: trial.entry.context.csrf,
    style: 'card',
    body: html`<h2>${title}</h2>
<p>${why}</p>
<input type="hidden" name="walk" value="${kept}">
<details ${isNext && html`open`}><summary>The request</summary>${showCall(`curl-${name}`, call(trial.issuer, walk))}</details>
${name === 'exchange' && input({ name: 'client_secret', label: 'client_secret', type: 'password', hint }, problem)}
<button class="${isNext ? 'primary' : 'secondary'}">${button}</button>`,
  });
}

function showCall(id: string, call: Call): Html {
  return html`<pre class="sample">${requestText(call)}</pre>
<details><summary>As curl</summary>${sample(id, curlText(call))}</details>`;
}

function startAgain({ path }: Trial): Html {
  return html`<p><a class="button secondary" href="${path}/try">Start again</a></p>`;
}
