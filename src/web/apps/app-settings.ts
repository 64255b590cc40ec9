import type { App, AppSettings } from '../../apps/apps.ts';
import type { AppSecret } from '../../apps/secrets.ts';
import { DAY } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import { listScopes } from '../../oauth/scopes.ts';
import { countExchanges } from '../../request-log/counts.ts';
import type { Endpoint } from '../../webhooks/endpoints.ts';
import type { WebDeps } from '../deps.ts';
import { copyable, type Problem, postForm, time } from '../forms.ts';
import { appFields } from './app-form.ts';
import { type AppSection, appHead, type Entry } from './app-page.ts';
import { secretRows } from './app-secrets.ts';
import { stopSection } from './app-status.ts';
import { troubleNotices } from './webhooks/endpoint-status.ts';

export function newAppBody(section: AppSection, entry: Entry, form: NewAppForm): Html {
  return html`<h1>Register an app</h1>
${postForm({
  action: section.path,
  csrf: entry.context.csrf,
  style: 'card',
  body: html`<input type="hidden" name="ticket" value="${form.ticket}">
${appFields(form.settings, section, form.problem)}
<button class="primary">Register app</button>`,
})}`;
}

interface NewAppForm {
  settings: AppSettings;
  /** Makes a second click register nothing more. */
  ticket: string;
  problem?: Problem;
}

/** The only page that ever shows a secret. */
export function newSecretBody(
  { section, issuer }: { section: AppSection; issuer: string },
  app: App,
  secret: string,
): Html {
  return html`<h1>${app.name}</h1>
<div class="card">
<p class="notice"><strong>Copy the secret now.</strong> It is not kept in a form that can be read, so it is never shown again.</p>
<dl class="facts">
<div><dt>client_id</dt><dd>${copyable('client-id', app.id)}</dd></div>
<div><dt>client_secret</dt><dd>${copyable('client-secret', secret)}</dd></div>
${endpoints(issuer)}
</dl>
<p><a class="button primary" href="${section.path}/${app.id}">I have copied it</a></p>
</div>`;
}

/** Below the credentials of a new app. */
export function nextSteps({ section, issuer }: { section: AppSection; issuer: string }, app: App): Html {
  return html`<section class="card"><h2>Next</h2>
<ul>
<li><a href="${issuer}/docs/guides/connect-your-app">Connect your app</a>: the guide, with curl, TypeScript and Python.</li>
<li><a href="${section.path}/${app.id}/try">Try it</a>: run the whole flow in your browser, one request at a time.</li>
</ul></section>`;
}

function endpoints(issuer: string): Html {
  return html`<div><dt>Authorize at</dt><dd>${copyable('authorize-at', `${issuer}/api/v1/oauth/authorize`)}</dd></div>
<div><dt>Get tokens at</dt><dd>${copyable('tokens-at', `${issuer}/api/v1/oauth/token`)}</dd></div>`;
}

export function appBody(section: AppSection, entry: Entry, view: AppView): Html {
  const { app, secrets, problem } = view;
  return html`${appHead(section, entry, app, 'Settings')}
${app.pausedAt !== null && html`<p class="notice">Paused by ${view.platformName} since ${time(app.pausedAt)}: nothing of the app works until it is resumed there.${view.pauseReason !== undefined && html`<br>Reason: ${view.pauseReason}`}</p>`}
${entry.canChange && troubleNotices(`${section.path}/${app.id}/endpoints`, view.endpoints, view.now)}
<section class="card"><h2>Credentials</h2>
<dl class="facts"><div><dt>client_id</dt><dd>${copyable('client-id', app.id)}</dd></div>
${endpoints(view.issuer)}</dl>
${problem?.field === 'secret' && html`<p class="problem">${problem.message}</p>`}
${secretRows({ entry, path: `${section.path}/${app.id}/secrets`, secrets, now: view.now })}
${entry.canChange && secrets.length < 2 && action(entry, `${section.path}/${app.id}/secrets`, html`<button class="secondary">Add a second secret</button>`)}
</section>
${view.offer}
${entry.canChange ? changes(section, entry, view) : summary(app)}`;
}

interface AppView {
  app: App;
  secrets: AppSecret[];
  /** What the form shows, which is not what is stored when something in it was refused. */
  settings: AppSettings;
  problem?: Problem;
  endpoints: Endpoint[];
  /** To require PKCE. */
  offer: Html | null;
  /** As the platform gave it, if it did. */
  pauseReason: string | undefined;
  issuer: string;
  platformName: string;
  now: number;
}

function changes(section: AppSection, entry: Entry, { app, settings, problem }: AppView): Html {
  const path = `${section.path}/${app.id}`;
  return html`${postForm({
    action: path,
    csrf: entry.context.csrf,
    style: 'card',
    body: html`<h2>Settings</h2>${appFields(settings, section, problem)}<button class="primary">Save</button>`,
  })}
${stopSection({ section, entry, app })}`;
}

function summary(app: App): Html {
  return html`<section class="card"><h2>Settings</h2>
<dl class="facts">
<div><dt>Redirect URIs</dt><dd>${app.redirectUris.map((uri) => html`<code>${uri}</code><br>`)}</dd></div>
<div><dt>Allowed scopes</dt><dd>${listScopes(app.allowedScopes).map(({ name }) => html`<code>${name}</code><br>`)}</dd></div>
</dl>
<p class="muted">Owners and admins of the business can change the app.</p></section>`;
}

function action({ context }: Entry, path: string, button: Html): Html {
  return postForm({ action: path, csrf: context.csrf, body: button });
}

const LOOKED_BACK = 7 * DAY;
const FEWEST = 5;

/** Requiring PKCE breaks an app that does not use it, so it is offered once every exchange of a week has used it. */
export async function pkceOffer(
  { storage, activity, clock }: WebDeps,
  { app, entry, path }: { app: App; entry: Entry; path: string },
): Promise<Html | null> {
  if (app.requiresPkce || !entry.canChange) return null;
  // The newest exchanges may still be in memory.
  await activity.flush();
  const { exchanges, pkceExchanges } = await countExchanges(storage.durable, app.id, clock() - LOOKED_BACK);
  if (exchanges < FEWEST || pkceExchanges < exchanges) return null;
  return html`<section class="card"><h2>Require PKCE?</h2>
<p>Each of the ${exchanges} code exchanges in the last 7 days used PKCE. If you require it, an intercepted code is useless even where someone leaves the code_challenge out.</p>
${postForm({ action: `${path}/require-pkce`, csrf: entry.context.csrf, body: html`<button class="secondary">Require PKCE</button>` })}</section>`;
}
