import type { FastifyReply, FastifyRequest } from 'fastify';
import { listSecrets } from '../../apps/app-secrets.ts';
import { type App, type AppSettings, findApp } from '../../apps/apps.ts';
import { type Html, html } from '../../lib/html.ts';
import { listEndpoints } from '../../webhooks/endpoints.ts';
import type { Problem } from '../fields.ts';
import { sendPage } from '../layout.ts';
import type { WebParts } from '../parts.ts';
import { notFound } from '../refusals.ts';
import { appBody } from './app-pages.ts';
import type { AppSection, Entry } from './section.ts';

export type AppRequest = FastifyRequest<{ Params: { id: string } }>;

/** What every page about apps does: let in, find the app, show it, and show it again with what was wrong. */
export type Desk = ReturnType<typeof openDesk>;

export function openDesk(parts: WebParts, section: AppSection) {
  const db = parts.storage.durable;

  const show = (reply: FastifyReply, { at }: Entry, content: Html, status = 200): FastifyReply => {
    const body = html`${section.above?.(at)}${content}`;
    return sendPage(
      reply,
      { title: section.title, platformName: parts.platformName, width: 'wide', at, body },
      { status },
    );
  };

  /** Whoever may only look is offered no change; to them it does not exist. */
  async function enterToChange(request: FastifyRequest): Promise<Entry> {
    const entry = await section.enter(request);
    if (!entry.canChange) throw notFound();
    return entry;
  }

  /** Another owner's app does not exist here. */
  async function findOwn(entry: Entry, id: string): Promise<App> {
    const app = await findApp(db, id);
    if (!app || app.ownerBusinessId !== entry.ownerBusinessId) throw notFound();
    return app;
  }

  async function withApp(entry: Entry, request: AppRequest): Promise<{ entry: Entry; app: App; path: string }> {
    const app = await findOwn(entry, request.params.id);
    return { entry, app, path: `${section.path}/${app.id}` };
  }

  return {
    ...parts,
    section,
    db,
    show,
    enterToChange,
    findOwn,

    enterApp: async (request: AppRequest) => withApp(await enterToChange(request), request),
    lookAtApp: async (request: AppRequest) => withApp(await section.enter(request), request),

    async showApp(reply: FastifyReply, entry: Entry, { app, settings = app, problem }: Shown): Promise<FastifyReply> {
      const { issuer, platformName, clock } = parts;
      const [secrets, endpoints] = [await listSecrets(db, app.id), await listEndpoints(db, app.id)];
      const view = { app, settings, secrets, endpoints, issuer, platformName, now: clock() };
      const body = appBody(section, entry, problem ? { ...view, problem } : view);
      return show(reply, entry, body, problem ? 400 : 200);
    },
  };
}

interface Shown {
  app: App;
  settings?: AppSettings;
  problem?: Problem;
}
