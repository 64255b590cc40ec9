import type { FastifyInstance } from 'fastify';
import { type App, deleteApp } from '../../apps/apps.ts';
import { countAffected, type Impact } from '../../grants/impact.ts';
import { disableApp, enableApp } from '../../grants/suspension.ts';
import { type Html, html } from '../../lib/html.ts';
import { impactText } from '../components.ts';
import { redirectWithFlash } from '../flash.ts';
import { postForm } from '../forms.ts';
import { actorOf } from '../session.ts';
import type { AppRequest, AppSection, Desk, Entry } from './app-page.ts';

type ForApp = { Params: { id: string } };

/** What stops an app is asked about first, with how many would notice. */
export function mountStops(host: FastifyInstance, desk: Desk): void {
  mountSwitches(host, desk);
  mountDeletion(host, desk);
}

function mountSwitches(host: FastifyInstance, desk: Desk): void {
  const { section, db, clock, show, enterApp } = desk;
  host.get<ForApp>(`${section.path}/:id/disable`, section.edit, async (request, reply) => {
    const { entry, app, path } = await enterApp(request);
    if (app.disabledAt !== null) return reply.redirect(path, 303);
    return show(reply, entry, disableBody(await askAbout(desk, request)));
  });

  const switches = [
    { verb: 'disable', change: disableApp, done: 'app_disabled' },
    { verb: 'enable', change: enableApp, done: 'app_enabled' },
  ] as const;
  for (const { verb, change, done } of switches) {
    host.post<ForApp>(`${section.path}/:id/${verb}`, section.edit, async (request, reply) => {
      const { app, path } = await enterApp(request);
      await change(actorOf(request), db, app, clock());
      return redirectWithFlash(reply, path, done);
    });
  }
}

function mountDeletion(host: FastifyInstance, desk: Desk): void {
  const { section, db, clock, show, enterApp } = desk;
  host.get<ForApp>(`${section.path}/:id/delete`, section.edit, async (request, reply) => {
    const question = await askAbout(desk, request);
    return show(reply, question.entry, deleteBody(question));
  });

  host.post<ForApp>(`${section.path}/:id/delete`, section.edit, async (request, reply) => {
    const { app } = await enterApp(request);
    await deleteApp(actorOf(request), db, app, clock());
    return redirectWithFlash(reply, section.path, 'app_deleted');
  });
}

async function askAbout({ section, db, clock, enterApp }: Desk, request: AppRequest) {
  const { entry, app } = await enterApp(request);
  return { section, entry, app, reach: await countAffected(db, { app_id: app.id }, clock()) };
}

interface StopQuestion {
  section: AppSection;
  entry: Entry;
  app: App;
  /** What would stop at this moment. */
  reach: Impact;
}

/** At the end of an app's settings. */
export function stopSection({ section, entry, app }: Omit<StopQuestion, 'reach'>): Html {
  const path = `${section.path}/${app.id}`;
  return html`<section class="card"><h2>Stop the app</h2>
${
  app.disabledAt
    ? html`<p>The app is disabled: none of its tokens work, and nobody can connect it.</p>${postForm({ action: `${path}/enable`, csrf: entry.context.csrf, body: html`<button class="secondary">Enable</button>` })}`
    : html`<p>Disabling stops every token of the app at once. You can enable it again.</p><p><a class="button danger" href="${path}/disable">Disable…</a></p>`
}
<p>Deleting cannot be undone.</p><p><a class="button danger" href="${path}/delete">Delete…</a></p>
</section>`;
}

function disableBody(question: StopQuestion): Html {
  return stopBody(question, {
    verb: 'disable',
    title: 'Disable',
    effect: 'Every token of the app stops working at once, and nobody can connect it, until you enable it again.',
    keep: 'Keep it running',
  });
}

function deleteBody(question: StopQuestion): Html {
  return stopBody(question, {
    verb: 'delete',
    title: 'Delete',
    effect: 'Every token of the app stops working at once, and its client_id is gone for good.',
    keep: 'Keep it',
  });
}

interface Stop {
  verb: string;
  title: string;
  effect: string;
  keep: string;
}

function stopBody({ section, entry, app, reach }: StopQuestion, { verb, title, effect, keep }: Stop): Html {
  const path = `${section.path}/${app.id}`;
  return html`<div class="card"><h1>${title} ${app.name}?</h1>
<p>It is connected by <strong>${impactText(reach)}</strong> right now.</p>
<p>${effect}</p>
<div class="answers"><a class="button secondary" href="${path}">${keep}</a>
${postForm({ action: `${path}/${verb}`, csrf: entry.context.csrf, body: html`<button class="danger">${title} app</button>` })}</div></div>`;
}
