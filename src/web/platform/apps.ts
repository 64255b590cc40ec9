import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findOwnedApp, type OwnedApp, searchApps } from '../../apps/app-search.ts';
import { clientIdOf } from '../../apps/client-ids.ts';
import { removeVerification, verifyPublisher } from '../../apps/verification.ts';
import { listProgress, type Progress } from '../../grants/follow-up-progress.ts';
import { countAffected, countEachAffected, type Impact } from '../../grants/impact.ts';
import { pauseApp, resumeApp } from '../../grants/suspension.ts';
import { type Html, html } from '../../lib/html.ts';
import { listScopes } from '../../oauth/scopes.ts';
import type { Database } from '../../storage/storage.ts';
import { access } from '../access.ts';
import { appAvatar, verifiedBadge } from '../app-identity-views.ts';
import { followUpProgress } from '../components/follow-up-progress.ts';
import { appBadges, impactText, ownerNameOf, pluralizeCount } from '../components/product.ts';
import { dangerZone, pageHead, question, settings } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { copyable, type Form, type Problem, postForm, text, time, tryForm } from '../forms.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf } from '../session.ts';
import { endTokensAction } from '../token-ends.ts';
import { mountEndOfTokens } from './app-tokens.ts';
import { findReason, mountPlatformList, reasonDetail, reasonField, reasonText, sendPlatformPage } from './page.ts';
import { verificationSection } from './verification.ts';

const PATH = '/platform/apps';
type ForApp = { Params: { id: string }; Body: Form | undefined };

/** The apps of all owners. */
export function mountAllApps(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, platformName } = deps;
  mountPlatformList(host, deps, {
    path: PATH,
    title: 'All apps',
    intro: 'The apps of every business, and of the platform itself.',
    label: 'Search by name, owner or client_id',
    search: (terms) => searchApps(storage.durable, terms),
    async toRows(apps) {
      const ids = apps.map(({ id }) => id);
      const impactOf = await countEachAffected(storage.durable, ids, clock());
      return apps.map((app) => appRow(app, { platformName, impact: impactOf(app.id) }));
    },
  });
  mountApp(host, deps);
  mountSwitches(host, deps);
  mountVerification(host, deps);
  mountEndOfTokens(host, deps);
}

function mountApp(host: FastifyInstance, deps: WebDeps): void {
  const { storage } = deps;
  host.get<ForApp>(`${PATH}/:id`, access('platform_admin'), async (request, reply) =>
    showApp(deps, request, reply, await requireApp(storage.durable, request.params.id)),
  );

  host.get<ForApp>(`${PATH}/:id/pause`, access('platform_admin'), async (request, reply) => {
    const app = await requireApp(storage.durable, request.params.id);
    if (app.pausedAt !== null) return reply.redirect(`${PATH}/${app.id}`, 303);
    return showPauseForm(deps, request, reply, app);
  });
}

async function showApp(
  deps: WebDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  app: OwnedApp,
  problem?: Problem,
): Promise<FastifyReply> {
  const { storage, clock, platformName } = deps;
  const context = await loadPageContext(deps, request);
  const impact = await countAffected(storage.durable, { appId: app.id }, clock());
  const reason = app.pausedAt === null ? undefined : await findReason(storage.durable, app.id, 'app.paused');
  const progress = await listProgress(storage.durable, { appId: app.id });
  const body = appBody(app, { platformName, impact, progress, reason, problem, csrf: context.csrf });
  return sendPlatformPage(reply, deps, { context, title: app.name, body, status: problem ? 400 : 200 });
}

/** Pausing a paused app, or resuming a running one, changes nothing. */
function mountSwitches(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  host.post<ForApp>(`${PATH}/:id/pause`, access('platform_admin'), async (request, reply) => {
    const app = await requireApp(storage.durable, request.params.id);
    const pause = async () => {
      await pauseApp(actorOf(request), storage.durable, { app, ...reasonDetail(request.body) }, clock());
      return redirectWithFlash(reply, `${PATH}/${app.id}`, 'app_paused');
    };
    return tryForm(pause, (problem) => showPauseForm(deps, request, reply, app, problem));
  });

  host.post<ForApp>(`${PATH}/:id/resume`, access('platform_admin'), async (request, reply) => {
    const app = await requireApp(storage.durable, request.params.id);
    await resumeApp(actorOf(request), storage.durable, app, clock());
    return redirectWithFlash(reply, `${PATH}/${app.id}`, 'app_resumed');
  });
}

function mountVerification(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  host.post<ForApp>(`${PATH}/:id/verify`, access('platform_admin'), async (request, reply) => {
    const app = await requireApp(storage.durable, request.params.id);
    const verified = { appId: app.id, seen: text(request.body ?? {}, 'seen') };
    const verify = async () => {
      await verifyPublisher(actorOf(request), storage.durable, verified, clock());
      return redirectWithFlash(reply, `${PATH}/${app.id}`, 'app_verified');
    };
    return tryForm(verify, (problem) => showApp(deps, request, reply, app, problem));
  });

  host.post<ForApp>(`${PATH}/:id/unverify`, access('platform_admin'), async (request, reply) => {
    const app = await requireApp(storage.durable, request.params.id);
    await removeVerification(actorOf(request), storage.durable, { appId: app.id }, clock());
    return redirectWithFlash(reply, `${PATH}/${app.id}`, 'app_unverified');
  });
}

async function showPauseForm(
  deps: WebDeps,
  request: FastifyRequest<ForApp>,
  reply: FastifyReply,
  app: OwnedApp,
  problem?: Problem,
): Promise<FastifyReply> {
  const { storage, clock, platformName } = deps;
  const context = await loadPageContext(deps, request);
  const impact = await countAffected(storage.durable, { appId: app.id }, clock());
  const around = { platformName, impact, csrf: context.csrf, typed: text(request.body ?? {}, 'reason') };
  const body = pauseBody(app, problem ? { ...around, problem } : around);
  return sendPlatformPage(reply, deps, { context, title: `Pause ${app.name}`, body, status: problem ? 400 : 200 });
}

async function requireApp(db: Database, id: string): Promise<OwnedApp> {
  const app = await findOwnedApp(db, id);
  if (!app) throw notFound();
  return app;
}

interface AppView {
  platformName: string;
  impact: Impact;
  csrf: string;
}

function appRow(app: OwnedApp, { platformName, impact }: { platformName: string; impact: Impact }): Html {
  return html`<li class="entry">${appAvatar(app)}<div><a href="/platform/apps/${app.id}">${app.name}</a> ${appBadges(app)} ${verifiedBadge(app)}
<p class="muted small">${ownerNameOf(app, app.ownerName, platformName)}</p></div>
<div class="meta muted small"><span>${pluralizeCount(impact.connections, impact, 'connection', 'connections')}</span><code>${app.id}</code></div></li>
`;
}

interface AppPageView extends AppView {
  progress: Progress[];
  reason: string | undefined;
  problem: Problem | undefined;
}

function appBody(app: OwnedApp, around: AppPageView): Html {
  const facts = html`<dl class="facts">
<div><dt>Owner</dt><dd>${owner(app, around.platformName)}</dd></div>
<div><dt>client_id</dt><dd>${copyable('client-id', clientIdOf(app))}</dd></div>
<div><dt>Registered</dt><dd>${time(app.createdAt)}</dd></div>
<div><dt>Who can connect it</dt><dd>${app.ownerScope === 'platform' || app.openToAnyBusiness ? 'Users of any business' : 'Users of its owner only'}</dd></div>
<div><dt>Allowed scopes</dt><dd>${listScopes(app.allowedScopes).map(({ name }) => html`<code>${name}</code><br>`)}</dd></div>
<div><dt>Redirect URIs</dt><dd>${app.redirectUris.map((uri) => html`<code>${uri}</code><br>`)}</dd></div>
<div><dt>Connected by</dt><dd>${impactText(around.impact)}</dd></div>
</dl>`;
  const more = html`<a class="button" href="/platform/developer/apps/${app.id}">App settings</a>`;
  return html`${pageHead({
    title: app.name,
    avatar: appAvatar(app),
    badges: html`${appBadges(app)} ${verifiedBadge(app)}`,
    intro: `An app of ${ownerNameOf(app, app.ownerName, around.platformName)}.`,
    back: { to: PATH, name: 'All apps' },
    actions: app.ownerScope === 'platform' && more,
  })}
${followUpProgress(around.progress)}
${settings({ title: 'Details', body: facts })}
${verificationSection(app, around)}
${pauseSection(app, around)}`;
}

function owner(app: OwnedApp, platformName: string): Html {
  const name = ownerNameOf(app, app.ownerName, platformName);
  return app.ownerBusinessId === null
    ? html`${name}`
    : html`<a href="/platform/businesses/${app.ownerBusinessId}">${name}</a>`;
}

function pauseSection(app: OwnedApp, { reason, csrf }: { reason: string | undefined; csrf: string }): Html {
  const path = `/platform/apps/${app.id}`;
  if (app.pausedAt === null) {
    return dangerZone([
      {
        title: 'Pause everywhere',
        text: 'Pausing stops every token of the app, in every business, at once. Its owner cannot undo it; a platform admin can.',
        action: html`<a class="button danger" href="${path}/pause">Pause…</a>`,
      },
      endTokensAction(path),
    ]);
  }
  const body = html`<p>Paused since ${time(app.pausedAt)}: none of its tokens work, and nobody can connect it. Once it is resumed, the same tokens work again.</p>
${reasonText(reason)}
${app.disabledAt !== null && html`<p>Its owner has disabled it, too. It stays disabled after you resume it.</p>`}
${postForm({ action: `${path}/resume`, csrf, body: html`<button class="primary">Resume</button>` })}`;
  return html`${settings({ title: 'Paused everywhere', body })}
${dangerZone([endTokensAction(path)])}`;
}

/** The confirmation, with the number of users affected. */
function pauseBody(app: OwnedApp, { platformName, impact, csrf, typed, problem }: PauseQuestion): Html {
  const path = `/platform/apps/${app.id}`;
  const hint = 'Shown on the page of the app, and in the audit log of its owners.';
  const body = html`<p>This app of ${ownerNameOf(app, app.ownerName, platformName)} is connected by <strong>${impactText(impact)}</strong> right now.</p>
${app.disabledAt !== null && html`<p class="notice">Its owner has disabled it already: none of its tokens work now.</p>`}
<p>From now on every call of the app is rejected, and nobody can connect it. The app is notified by webhook.
Once a platform admin resumes it, the same tokens work again.</p>
${postForm({
  action: `${path}/pause`,
  csrf,
  body: html`${reasonField({ hint, value: typed, problem })}
<div class="form-actions"><a class="button secondary" href="${path}">Cancel</a><button class="danger">Pause app</button></div>`,
})}`;
  return question({ title: `Pause ${app.name} everywhere?`, back: { to: path, name: app.name }, body });
}

interface PauseQuestion extends AppView {
  /** The submitted reason, valid or not. */
  typed: string;
  problem?: Problem;
}
