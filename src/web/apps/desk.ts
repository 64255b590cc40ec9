import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Membership } from '../../accounts/memberships.ts';
import { type App, type AppSettings, findApp } from '../../apps/apps.ts';
import { listSecrets } from '../../apps/secrets.ts';
import { type Html, html } from '../../lib/html.ts';
import { listEndpoints } from '../../webhooks/endpoints.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import type { Problem } from '../forms.ts';
import { sendPage } from '../layout.ts';
import { findReason } from '../platform/page.ts';
import { notFoundOrOtherBusiness } from '../session.ts';
import { appBody } from './app-pages.ts';
import { pkceOffer } from './pkce-offer.ts';
import type { AppSection, Entry } from './section.ts';

export type AppRequest = FastifyRequest<{ Params: { id: string } }>;

/** What every page about apps does: let in, find the app, show it, and show it again with what was wrong. */
export type Desk = ReturnType<typeof openDesk>;

export function openDesk(deps: WebDeps, section: AppSection) {
  const db = deps.storage.durable;

  const show = (reply: FastifyReply, { context }: Entry, content: Html, status = 200): FastifyReply => {
    const body = html`${section.above?.(context)}${content}`;
    return sendPage(
      reply,
      { title: section.title, platformName: deps.platformName, width: 'wide', context, body },
      { status },
    );
  };

  /** Whoever may only look is offered no change; to them it does not exist. */
  async function enterToChange(request: FastifyRequest): Promise<Entry> {
    const entry = await section.enter(request);
    if (!entry.canChange) throw notFound();
    return entry;
  }

  /** An app of another owner is not found, or is one switch away. */
  async function findOwn(entry: Entry, id: string, { request, changes }: Purpose): Promise<App> {
    const app = await findApp(db, id);
    const isOwn = app?.ownerBusinessId === entry.ownerBusinessId;
    if (!app || !isOwn) throw notFoundOrOtherBusiness(app ? businessesOf(app, entry, changes) : [], request);
    if (changes && !entry.canChange) throw notFound();
    return app;
  }

  async function withApp(request: AppRequest, { changes }: { changes: boolean }): Promise<EnteredApp> {
    const entry = await section.enter(request);
    const app = await findOwn(entry, request.params.id, { request, changes });
    return { entry, app, path: `${section.path}/${app.id}` };
  }

  return {
    ...deps,
    section,
    db,
    show,
    enterToChange,
    findOwn,

    enterApp: (request: AppRequest) => withApp(request, { changes: true }),
    lookAtApp: (request: AppRequest) => withApp(request, { changes: false }),

    async showApp(reply: FastifyReply, entry: Entry, { app, settings = app, problem }: Shown): Promise<FastifyReply> {
      const { issuer, platformName, clock } = deps;
      const [secrets, endpoints] = [await listSecrets(db, app.id), await listEndpoints(db, app.id)];
      const offer = await pkceOffer(deps, { app, entry, path: `${section.path}/${app.id}` });
      const pauseReason = app.pausedAt === null ? undefined : await findReason(db, app.id, 'app.paused');
      const view = { app, settings, secrets, endpoints, offer, pauseReason, issuer, platformName, now: clock() };
      const body = appBody(section, entry, problem ? { ...view, problem } : view);
      return show(reply, entry, body, problem ? 400 : 200);
    },
  };
}

interface Purpose {
  request: FastifyRequest;
  /** Whether the page is for those who may change the app. */
  changes: boolean;
}

interface EnteredApp {
  entry: Entry;
  app: App;
  path: string;
}

/** The user's membership in the business that owns the app, if it lets them open the page. The platform is no business. */
function businessesOf({ ownerBusinessId }: App, entry: Entry, changes: boolean): Membership[] {
  if (entry.ownerBusinessId === null) return [];
  const owners = entry.context.memberships.filter(({ businessId }) => businessId === ownerBusinessId);
  return owners.filter(({ role }) => !changes || role !== 'member');
}

interface Shown {
  app: App;
  settings?: AppSettings;
  problem?: Problem;
}
