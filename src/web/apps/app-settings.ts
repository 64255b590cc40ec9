import type { FastifyInstance, FastifyReply } from 'fastify';
import type { App, AppSettings } from '../../apps/apps.ts';
import { type AppSecret, listSecrets } from '../../apps/secrets.ts';
import { BADGE } from '../../apps/verification.ts';
import { listProgress, type Progress } from '../../grants/follow-up-progress.ts';
import { changeAppSettings } from '../../grants/suspension.ts';
import { DAY } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import { listScopes } from '../../oauth/scopes.ts';
import { countExchanges } from '../../request-log/counts.ts';
import { type Endpoint, listEndpoints } from '../../webhooks/endpoints.ts';
import { followUpProgress } from '../components/follow-up-progress.ts';
import { settings, settingsForm } from '../components/structure.ts';
import { isConfirmed } from '../confirmation.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { copyable, type Form, type Problem, postForm, time, tryForm } from '../forms.ts';
import { findReason } from '../platform/page.ts';
import { actorOf } from '../session.ts';
import { appSections, pkceField, readAppForm } from './app-fields.ts';
import { type AppPages, type AppRequest, type AppSection, appHead, type Viewer } from './app-page.ts';
import { endpointFacts, secretRows } from './app-secrets.ts';
import { stopSection } from './app-status.ts';
import { askAboutBadge } from './badge-question.ts';
import { failingNotices } from './webhooks/endpoint-page.ts';

type ForApp = { Params: { id: string }; Body: Form };

/** The app's own page: credentials, settings and status. */
export function mountAppSettings(host: FastifyInstance, pages: AppPages): void {
  const { section, loadApp } = pages;
  host.get<ForApp>(`${section.route}/:id`, section.view, async (request, reply) => {
    const { viewer, app } = await loadApp(request);
    return showSettings(pages, reply, viewer, { app });
  });

  host.post<ForApp>(`${section.route}/:id`, section.edit, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    const typed = readAppForm(request.body, section);
    const change = async () => {
      await storeSettings(pages, request, () => typed, !isConfirmed(request.body));
      return redirectWithFlash(reply, path, 'saved');
    };
    return tryForm(change, async (problem) => {
      if (problem.field !== BADGE) return showSettings(pages, reply, viewer, { app, settings: typed, problem });
      return askAboutBadge(pages, reply, viewer, { app, page: '', action: '', form: request.body, problem });
    });
  });

  host.post<ForApp>(`${section.route}/:id/require-pkce`, section.edit, async (request, reply) => {
    const { path } = await loadApp(request);
    await storeSettings(pages, request, (before) => ({ ...before, requiresPkce: true }));
    return redirectWithFlash(reply, path, 'pkce_required');
  });
}

async function storeSettings(
  { db, clock, externalClients: { privateSchemes } }: AppPages,
  request: AppRequest,
  change: (before: App) => AppSettings,
  keepsBadge = true,
): Promise<void> {
  const changes = { appId: request.params.id, change, privateSchemes, keepsBadge };
  const changed = await changeAppSettings(actorOf(request), db, changes, clock());
  if (!changed) throw notFound();
}

export async function showSettings(
  pages: AppPages,
  reply: FastifyReply,
  viewer: Viewer,
  { app, settings: shown = app, problem }: { app: App; settings?: AppSettings; problem?: Problem },
): Promise<FastifyReply> {
  const { section, db, issuer, platformName, clock } = pages;
  const [secrets, endpoints] = [await listSecrets(db, app.id), await listEndpoints(db, app.id)];
  const offer = await pkceOffer(pages, { app, viewer, path: `${viewer.path}/${app.id}` });
  const pauseReason = app.pausedAt === null ? undefined : await findReason(db, app.id, 'app.paused');
  const view = {
    progress: await listProgress(db, { appId: app.id }),
    app,
    settings: shown,
    problem,
    secrets,
    endpoints,
    offer,
    pauseReason,
    issuer,
    platformName,
    now: clock(),
  };
  const body = settingsBody(section, viewer, view);
  return pages.show(reply, viewer, { title: `Settings · ${app.name}`, body, status: problem ? 400 : 200 });
}

function settingsBody(section: AppSection, viewer: Viewer, view: AppView): Html {
  const { app, secrets, problem } = view;
  return html`${appHead(section, viewer, app, { here: 'Settings' })}
${app.pausedAt !== null && html`<p class="notice">Paused by ${view.platformName} since ${time(app.pausedAt)}: the app does not work until the platform resumes it.${view.pauseReason !== undefined && html`<br>Reason: ${view.pauseReason}`}</p>`}
${followUpProgress(view.progress)}
${viewer.canChange && failingNotices(`${viewer.path}/${app.id}/endpoints`, view.endpoints, view.now)}
${settings({
  title: 'Credentials',
  intro: 'Your app sends them with its requests. Only a hash of a secret is stored.',
  body: html`<dl class="facts"><div><dt>client_id</dt><dd>${copyable('client-id', app.id)}</dd></div>
${endpointFacts(view.issuer)}</dl>
${problem?.field === 'secret' && html`<p class="problem">${problem.message}</p>`}
${app.isPublic && html`<p>This is a public app: it has no secret, and sends its client_id alone. PKCE is always required.</p>`}
${secretRows({ viewer, path: `${viewer.path}/${app.id}/secrets`, secrets, now: view.now })}
${viewer.canChange && !app.isPublic && secrets.length < 2 && action(viewer, `${viewer.path}/${app.id}/secrets`, html`<button>Add a second secret</button>`)}`,
})}
${view.offer}
${viewer.canChange ? changes(section, viewer, view) : summary(app)}`;
}

interface AppView {
  progress: Progress[];
  app: App;
  secrets: AppSecret[];
  /** What the form shows: the stored settings, or what was submitted if it was rejected. */
  settings: AppSettings;
  problem: Problem | undefined;
  endpoints: Endpoint[];
  /** The offer to require PKCE. */
  offer: Html | null;
  pauseReason: string | undefined;
  issuer: string;
  platformName: string;
  now: number;
}

function changes(section: AppSection, viewer: Viewer, { app, settings: shown, problem }: AppView): Html {
  const path = `${viewer.path}/${app.id}`;
  return html`${postForm({
    action: path,
    csrf: viewer.context.csrf,
    style: 'card',
    body: settingsForm(
      appSections(shown, section, { problem, more: app.isPublic ? undefined : pkceField(shown) }),
      html`<button class="primary">Save</button>`,
    ),
  })}
${stopSection({ viewer, app })}`;
}

function summary(app: App): Html {
  const body = html`<dl class="facts">
<div><dt>Redirect URIs</dt><dd>${app.redirectUris.map((uri) => html`<code>${uri}</code><br>`)}</dd></div>
<div><dt>Allowed scopes</dt><dd>${listScopes(app.allowedScopes).map(({ name }) => html`<code>${name}</code><br>`)}</dd></div>
</dl>`;
  return settings({ title: 'Settings', intro: 'Owners and admins of the business can change the app.', body });
}

function action({ context }: Viewer, path: string, button: Html): Html {
  return postForm({ action: path, csrf: context.csrf, body: button });
}

const OFFER_PERIOD = 7 * DAY;
const MIN_EXCHANGES = 5;

/** Requiring PKCE breaks an app that does not use it, so it is offered when every exchange of the last week used it. */
async function pkceOffer(
  { storage, requestLog, clock }: WebDeps,
  { app, viewer, path }: { app: App; viewer: Viewer; path: string },
): Promise<Html | null> {
  if (app.requiresPkce || !viewer.canChange) return null;
  // The newest exchanges may still be in memory.
  await requestLog.flush();
  const { exchanges, pkceExchanges } = await countExchanges(storage.durable, app.id, clock() - OFFER_PERIOD);
  if (exchanges < MIN_EXCHANGES || pkceExchanges < exchanges) return null;
  return settings({
    title: 'Require PKCE?',
    intro: `Each of the ${exchanges} code exchanges in the last 7 days used PKCE.`,
    body: html`<p>If you require it, an intercepted code is useless even if a request leaves out the code_challenge.</p>
${postForm({ action: `${path}/require-pkce`, csrf: viewer.context.csrf, body: html`<button>Require PKCE</button>` })}`,
  });
}
