import type { FastifyInstance } from 'fastify';
import { type App, deleteApp } from '../../apps/apps.ts';
import { countAffected, type Impact } from '../../grants/impact.ts';
import { disableApp, enableApp } from '../../grants/suspension.ts';
import { type Html, html } from '../../lib/html.ts';
import { impactText } from '../components.ts';
import { redirectWithFlash } from '../flash.ts';
import { postForm } from '../forms.ts';
import { actorOf } from '../session.ts';
import type { AppPages, AppRequest, AppSection, Viewer } from './app-page.ts';

type ForApp = { Params: { id: string } };

/** Disabling and deleting an app are confirmed first, with the number of users affected. */
export function mountAppStatus(host: FastifyInstance, pages: AppPages): void {
  mountSwitches(host, pages);
  mountDeletion(host, pages);
}

function mountSwitches(host: FastifyInstance, pages: AppPages): void {
  const { section, db, clock, show, loadApp } = pages;
  host.get<ForApp>(`${section.path}/:id/disable`, section.edit, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    if (app.disabledAt !== null) return reply.redirect(path, 303);
    return show(reply, viewer, disableBody(await loadConfirmation(pages, request)));
  });

  const switches = [
    { verb: 'disable', change: disableApp, done: 'app_disabled' },
    { verb: 'enable', change: enableApp, done: 'app_enabled' },
  ] as const;
  for (const { verb, change, done } of switches) {
    host.post<ForApp>(`${section.path}/:id/${verb}`, section.edit, async (request, reply) => {
      const { app, path } = await loadApp(request);
      await change(actorOf(request), db, app, clock());
      return redirectWithFlash(reply, path, done);
    });
  }
}

function mountDeletion(host: FastifyInstance, pages: AppPages): void {
  const { section, db, clock, show, loadApp } = pages;
  host.get<ForApp>(`${section.path}/:id/delete`, section.edit, async (request, reply) => {
    const question = await loadConfirmation(pages, request);
    return show(reply, question.viewer, deleteBody(question));
  });

  host.post<ForApp>(`${section.path}/:id/delete`, section.edit, async (request, reply) => {
    const { app } = await loadApp(request);
    await deleteApp(actorOf(request), db, app, clock());
    return redirectWithFlash(reply, section.path, 'app_deleted');
  });
}

async function loadConfirmation({ section, db, clock, loadApp }: AppPages, request: AppRequest) {
  const { viewer, app } = await loadApp(request);
  return { section, viewer, app, impact: await countAffected(db, { app_id: app.id }, clock()) };
}

interface ConfirmationView {
  section: AppSection;
  viewer: Viewer;
  app: App;
  impact: Impact;
}

export function stopSection({ section, viewer, app }: Omit<ConfirmationView, 'impact'>): Html {
  const path = `${section.path}/${app.id}`;
  return html`<section class="card"><h2>Disable or delete</h2>
${
  app.disabledAt
    ? html`<p>The app is disabled: none of its tokens work, and nobody can connect it.</p>${postForm({ action: `${path}/enable`, csrf: viewer.context.csrf, body: html`<button class="secondary">Enable</button>` })}`
    : html`<p>Disabling stops every token of the app at once. You can enable it again.</p><p><a class="button danger" href="${path}/disable">Disable…</a></p>`
}
<p>Deleting cannot be undone.</p><p><a class="button danger" href="${path}/delete">Delete…</a></p>
</section>`;
}

function disableBody(question: ConfirmationView): Html {
  return confirmationBody(question, {
    verb: 'disable',
    title: 'Disable',
    effect: 'Every token of the app stops working at once, and nobody can connect it, until you enable it again.',
    keep: 'Keep it running',
  });
}

function deleteBody(question: ConfirmationView): Html {
  return confirmationBody(question, {
    verb: 'delete',
    title: 'Delete',
    effect: 'Every token of the app stops working at once, and its client_id is deleted. This cannot be undone.',
    keep: 'Keep it',
  });
}

interface Stop {
  verb: string;
  title: string;
  effect: string;
  keep: string;
}

function confirmationBody(
  { section, viewer, app, impact }: ConfirmationView,
  { verb, title, effect, keep }: Stop,
): Html {
  const path = `${section.path}/${app.id}`;
  return html`<div class="card"><h1>${title} ${app.name}?</h1>
<p>It is connected by <strong>${impactText(impact)}</strong> right now.</p>
<p>${effect}</p>
<div class="answers"><a class="button secondary" href="${path}">${keep}</a>
${postForm({ action: `${path}/${verb}`, csrf: viewer.context.csrf, body: html`<button class="danger">${title} app</button>` })}</div></div>`;
}
