import type { FastifyInstance } from 'fastify';
import { type App, deleteApp } from '../../apps/apps.ts';
import { endTokensOfApp } from '../../grants/app-tokens.ts';
import { countAffected } from '../../grants/impact.ts';
import { disableApp, enableApp } from '../../grants/suspension.ts';
import { type Html, html } from '../../lib/html.ts';
import { impactText } from '../components/product.ts';
import { dangerZone, question } from '../components/structure.ts';
import { redirectWithFlash } from '../flash.ts';
import { postForm } from '../forms.ts';
import { actorOf, requireRecentSignIn } from '../session.ts';
import { END_TOKENS, endTokensAction, endTokensQuestion } from '../token-ends.ts';
import type { AppPages, Viewer } from './app-page.ts';

/** Disabling and deleting an app, and ending its tokens, are confirmed first, with the number of users affected. */
export function mountAppStatus(host: FastifyInstance, pages: AppPages): void {
  mountConfirmations(host, pages);
  mountChanges(host, pages);
  mountEndOfTokens(host, pages);
}

type ForApp = { Params: { id: string } };

const CONFIRMATIONS = {
  disable: {
    title: 'Disable',
    effect: 'Every token of the app stops working at once, and nobody can connect it, until you enable it again.',
  },
  delete: {
    title: 'Delete',
    effect: 'Every token of the app stops working at once, and its client_id is deleted. This cannot be undone.',
  },
};

function mountConfirmations(host: FastifyInstance, { section, db, clock, show, loadApp }: AppPages): void {
  for (const verb of ['disable', 'delete'] as const) {
    host.get<ForApp>(`${section.route}/:id/${verb}`, section.edit, async (request, reply) => {
      const { viewer, app, path } = await loadApp(request);
      if (verb === 'disable' && app.disabledAt !== null) return reply.redirect(path, 303);
      const { title, effect } = CONFIRMATIONS[verb];
      const impact = await countAffected(db, { appId: app.id }, clock());
      const explanation = html`<p>It is connected by <strong>${impactText(impact)}</strong> right now.</p>
<p>${effect}</p>
<div class="form-actions"><a class="button secondary" href="${path}">Cancel</a>
${postForm({ action: `${path}/${verb}`, csrf: viewer.context.csrf, body: html`<button class="danger">${title} app</button>` })}</div>`;
      const confirmation = { title: `${title} ${app.name}?`, back: { to: path, name: app.name }, body: explanation };
      return show(reply, viewer, { title: confirmation.title, body: question(confirmation) });
    });
  }
}

function mountChanges(host: FastifyInstance, { section, db, clock, loadApp }: AppPages): void {
  const changes = [
    { verb: 'disable', change: disableApp, flash: 'app_disabled' },
    { verb: 'enable', change: enableApp, flash: 'app_enabled' },
    { verb: 'delete', change: deleteApp, flash: 'app_deleted' },
  ] as const;
  for (const { verb, change, flash } of changes) {
    host.post<ForApp>(`${section.route}/:id/${verb}`, section.edit, async (request, reply) => {
      const { viewer, app, path } = await loadApp(request);
      await change(actorOf(request), db, app, clock());
      return redirectWithFlash(reply, verb === 'delete' ? viewer.path : path, flash);
    });
  }
}

function mountEndOfTokens(host: FastifyInstance, { section, db, clock, show, loadApp }: AppPages): void {
  const route = `${section.route}/:id/${END_TOKENS}`;
  host.get<ForApp>(route, section.edit, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    requireRecentSignIn(request, `${path}/${END_TOKENS}`, clock());
    const impact = await countAffected(db, { appId: app.id }, clock());
    return show(reply, viewer, endTokensQuestion({ app, path, impact, csrf: viewer.context.csrf }));
  });

  host.post<ForApp>(route, section.edit, async (request, reply) => {
    const { app, path } = await loadApp(request);
    requireRecentSignIn(request, `${path}/${END_TOKENS}`, clock());
    await endTokensOfApp(actorOf(request), db, app, clock());
    return redirectWithFlash(reply, path, 'app_tokens_ended');
  });
}

export function stopSection({ viewer, app }: { viewer: Viewer; app: App }): Html {
  const path = `${viewer.path}/${app.id}`;
  const enable = postForm({
    action: `${path}/enable`,
    csrf: viewer.context.csrf,
    body: html`<button>Enable</button>`,
  });
  return dangerZone([
    app.disabledAt
      ? {
          title: 'Enable the app',
          text: 'The app is disabled: none of its tokens work, and nobody can connect it.',
          action: enable,
        }
      : {
          title: 'Disable the app',
          text: 'Disabling stops every token of the app at once. You can enable it again.',
          action: html`<a class="button danger" href="${path}/disable">Disable…</a>`,
        },
    endTokensAction(path),
    {
      title: 'Delete the app',
      text: 'Deleting cannot be undone.',
      action: html`<a class="button danger" href="${path}/delete">Delete…</a>`,
    },
  ]);
}
