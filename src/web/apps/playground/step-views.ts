import { type Html, html } from '../../../lib/html.ts';
import { codeBlock } from '../../components/display.ts';
import { section, settings } from '../../components/structure.ts';
import { input, type Problem, postForm } from '../../forms.ts';
import type { Callback } from './authorize.ts';
import { frame, type Playground } from './layout.ts';
import { type ApiResponse, type Call, curlText, exportText, requestText } from './requests.ts';
import { nextSteps, type PlaygroundState, STEPS, type StepName } from './steps.ts';

interface StepContext {
  playground: Playground;
  progress: PlaygroundState;
  /** The progress, encrypted for the form. */
  encrypted: string;
  problem?: Problem | undefined;
}

/** The response to the authorize request, and the exchange as the next step. */
export function callbackBody(context: StepContext, callback: Callback): Html {
  const { playground } = context;
  if (callback.error !== '') return frame(playground, { step: 'authorize' }, errorCard(playground, callback));
  return frame(
    playground,
    { step: 'exchange' },
    html`${section({
      title: 'Response',
      body: html`<dl class="facts">
<div><dt><code>code</code></dt><dd><code>${callback.code}</code></dd></div>
${
  callback.iss === ''
    ? html`<div><dt><code>state</code>, <code>iss</code></dt><dd>You pasted only the code. Your app must also compare the state with the one it sent.</dd></div>`
    : html`<div><dt><code>state</code></dt><dd>The same as in the request.</dd></div>
<div><dt><code>iss</code></dt><dd><code>${callback.iss}</code><br><span class="muted small">The authorization server that responded.</span></dd></div>`
}
</dl>`,
    })}
${stepCards(context, ['exchange'])}`,
  );
}

function errorCard(playground: Playground, { error, description, errorUri }: Callback): Html {
  const body = html`<dl class="facts"><div><dt><code>error</code></dt><dd><code>${error}</code></dd></div>
<div><dt><code>error_description</code></dt><dd>${description}</dd></div></dl>
${explanation(playground, errorUri)}
<p>There is no code. Your app should explain what happened and let the user try again.</p>
${startAgain(playground)}`;
  return section({ title: 'Response', body });
}

interface Sent {
  name: StepName;
  call: Call;
  /** Undefined if there was no response. */
  response: ApiResponse | undefined;
}

/** The request, the response and the next steps. */
export function stepBody(context: StepContext, { name, call, response }: Sent): Html {
  const { playground, progress } = context;
  const steps = nextSteps(progress, name).filter((step) => step !== 'invoices' || playground.servesResources);
  const next = response ? steps : [name, ...steps.filter((step) => step !== name)];
  return frame(
    playground,
    { step: name, done: progress.done },
    html`<section class="card sent"><h2>${STEPS[name].title}</h2>
<h3>Request</h3>
${showCall('curl-sent', call)}
<h3>Response</h3>
${response ? showResponse(playground, response) : unreachable(playground)}
${progress.tokens && showTokens(progress.tokens)}
</section>
${progress.hasEnded && name === 'revoke' && html`<p class="notice">The grant is revoked. See which errors your app receives now:</p>`}
${stepCards(context, next)}
${startAgain(playground)}`,
  );
}

export function retryBody(context: StepContext, name: StepName): Html {
  return frame(
    context.playground,
    { step: name, done: context.progress.done },
    html`${stepCards(context, [name])}${startAgain(context.playground)}`,
  );
}

function showResponse(playground: Playground, { head, text, json }: ApiResponse): Html {
  const uri = (json as { error_uri?: unknown } | null | undefined)?.error_uri;
  return html`${codeBlock({ id: 'response', code: `${head}\n\n${text}`, label: 'Response' })}
${typeof uri === 'string' && explanation(playground, uri)}`;
}

function unreachable({ issuer }: Playground): Html {
  return html`<p class="notice" role="alert">This server could not reach ${issuer}, its own public address (BASE_URL), within 10 seconds. Ask its operator to fix this; until then, run the request with curl from your own machine.</p>`;
}

function explanation({ issuer }: Playground, uri: string): Html {
  return html`${uri.startsWith(`${issuer}/`) && html`<p><a href="${uri}" target="_blank" rel="noopener">What this error means and how to fix it</a></p>`}`;
}

function showTokens({ access, refresh }: NonNullable<PlaygroundState['tokens']>): Html {
  const variables = { ACCESS_TOKEN: access, REFRESH_TOKEN: refresh };
  return html`<details><summary>Show the full tokens for curl</summary>
<p class="small">These tokens are real: anyone who has them can do what you allowed.</p>
${codeBlock({ id: 'tokens', code: exportText(variables), label: 'Tokens' })}</details>`;
}

/** The first card is the next step. */
function stepCards(context: StepContext, names: StepName[]): Html {
  return html`${names.map((name, index) => stepCard(context, name, index === 0))}`;
}

function stepCard({ playground, progress, encrypted, problem }: StepContext, name: StepName, isNext: boolean): Html {
  const { title, why, button, call } = STEPS[name];
  const hint = 'Used only for these requests. It is not stored.';
  const form = postForm({
    action: `${playground.path}/try/${name}`,
    csrf: playground.viewer.context.csrf,
    body: html`<input type="hidden" name="playground_state" value="${encrypted}">
<details ${isNext && html`open`}><summary>Request</summary>${showCall(`curl-${name}`, call(playground.issuer, progress))}</details>
${name === 'exchange' && input({ name: 'client_secret', label: 'client_secret', type: 'password', hint }, problem)}
<button class="${isNext ? 'primary' : 'secondary'}">${button}</button>`,
  });
  return settings({ title, intro: why, body: form });
}

function showCall(id: string, call: Call): Html {
  const step = id.replace('curl-', '');
  return html`${codeBlock({ id: `request-${step}`, code: requestText(call), label: `Request, ${step}` })}
<details><summary>As curl</summary>${codeBlock({ id, code: curlText(call), label: `As curl, ${step}` })}</details>`;
}

function startAgain({ path }: Playground): Html {
  return html`<p><a class="button secondary" href="${path}/try">Start again</a></p>`;
}
