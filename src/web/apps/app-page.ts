import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Membership } from '../../accounts/memberships.ts';
import { type App, type AppSettings, findApp } from '../../apps/apps.ts';
import { listSecrets } from '../../apps/secrets.ts';
import { type Html, html } from '../../lib/html.ts';
import { listEndpoints } from '../../webhooks/endpoints.ts';
import type { RouteAccess } from '../access.ts';
import { appBadges } from '../components.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import type { Problem } from '../forms.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { findReason } from '../platform/page.ts';
import { notFoundOrOtherBusiness } from '../session.ts';
import { appBody, pkceOffer } from './app-settings.ts';

/** A part of the site in which apps are kept: a business's own, or the platform's. The pages are the same in both. */
export interface AppSection {
  path: string;
  title: string;
  /** What stands at the top of each of its pages. */
  above?(context: PageContext): Html;
  /** Whether it makes sense to open an app here to other businesses. */
  canOpenToAnyBusiness: boolean;
  /** Who may open the list of apps, an app, and what changes an app. */
  list: RouteAccess;
  view: RouteAccess;
  edit: RouteAccess;
  enter(request: FastifyRequest): Promise<Entry>;
}

export interface Entry {
  context: PageContext;
  /** Null for the platform. */
  ownerBusinessId: string | null;
  intro: string;
  canChange: boolean;
}

type AppTab = 'Settings' | 'Requests' | 'Connections' | 'Webhooks' | 'Try it';

/** Its name, and the way around its pages. Those who may not change the app have no business with the last two. */
export function appHead(section: AppSection, entry: Entry, app: App, here: AppTab): Html {
  const path = `${section.path}/${app.id}`;
  const tabs = [
    { name: 'Settings', to: path },
    { name: 'Requests', to: `${path}/requests` },
    { name: 'Connections', to: `${path}/connections` },
    ...(entry.canChange ? [{ name: 'Webhooks', to: `${path}/endpoints` }] : []),
    ...(entry.canChange ? [{ name: 'Try it', to: `${path}/try` }] : []),
  ];
  return html`<p><a href="${section.path}">${section.title}</a></p>
<h1>${app.name} ${badgesOf(app)}</h1>
<nav class="tabs" aria-label="${app.name}"><ul>
${tabs.map(({ name, to }) => html`<li><a href="${to}" ${name === here && html`aria-current="page"`}>${name}</a></li>`)}
</ul></nav>`;
}

/** And to whom it is open. */
export function badgesOf(app: App): Html {
  return html`${app.openToAnyBusiness && html`<span class="badge">Any business</span>`}
${appBadges(app)}`;
}

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
