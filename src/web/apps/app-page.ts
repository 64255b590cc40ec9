import type { FastifyReply, FastifyRequest } from 'fastify';
import { type App, findApp } from '../../apps/apps.ts';
import { type Html, html } from '../../lib/html.ts';
import type { Database } from '../../storage/storage.ts';
import type { RouteAccess } from '../access.ts';
import { appAvatar, verifiedBadge } from '../app-identity-views.ts';
import { appBadges } from '../components/product.ts';
import { pageHead, tabs } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { type PageContext, sendPage } from '../layout.ts';

/** The app pages are mounted twice: for the apps of a business, and for those of the platform. */
export interface AppSection {
  route: string;
  title: string;
  /** Below the head of the list. */
  tabs?(context: PageContext): Html;
  /** Whether an app of this section can be opened to other businesses. */
  canOpenToAnyBusiness: boolean;
  /** Access to the apps, and to the routes that change them. */
  view: RouteAccess;
  edit: RouteAccess;
  loadViewer(request: FastifyRequest): Promise<Viewer>;
}

export interface Viewer {
  context: PageContext;
  /** The address of the list of apps. */
  path: string;
  /** Null for the platform. */
  ownerBusinessId: string | null;
  intro: string;
  canChange: boolean;
}

interface HeadOptions {
  here: AppTab;
  back?: { to: string; name: string };
}

type AppTab = 'Settings' | 'Identity' | 'Requests' | 'Connections' | 'Webhooks' | 'Try it';

/**
 * The app's name and tabs, below the link to the page above, which is the list of apps unless given. Only those who may
 * change the app see its identity and the last two tabs. The playground needs a secret.
 */
export function appHead(section: AppSection, viewer: Viewer, app: App, { here, back }: HeadOptions): Html {
  const path = `${viewer.path}/${app.id}`;
  const links = [
    { name: 'Settings', to: path },
    ...(viewer.canChange ? [{ name: 'Identity', to: `${path}/identity` }] : []),
    { name: 'Requests', to: `${path}/requests` },
    { name: 'Connections', to: `${path}/connections` },
    ...(viewer.canChange ? [{ name: 'Webhooks', to: `${path}/endpoints` }] : []),
    ...(viewer.canChange && !app.isPublic ? [{ name: 'Try it', to: `${path}/try` }] : []),
  ];
  return html`${pageHead({
    title: app.name,
    avatar: appAvatar(app),
    badges: html`${appStatusBadges(app)} ${verifiedBadge(app)}`,
    back: back ?? { to: viewer.path, name: section.title },
  })}
${tabs(
  app.name,
  links.map((link) => ({ ...link, isHere: link.name === here })),
)}`;
}

export function appStatusBadges(app: App): Html {
  return html`${app.isPublic && html`<span class="badge">Public</span>`}
${app.openToAnyBusiness && html`<span class="badge">Any business</span>`}
${appBadges(app)}`;
}

export type AppRequest = FastifyRequest<{ Params: { id: string } }>;

/** What all app pages share. */
export type AppPages = ReturnType<typeof createAppPages>;

export function createAppPages(deps: WebDeps, section: AppSection) {
  const db = deps.storage.durable;
  return {
    ...deps,
    section,
    db,

    show(reply: FastifyReply, { context }: Viewer, { title, body, status = 200 }: AppPage): FastifyReply {
      return sendPage(reply, { title, platformName: deps.platformName, width: 'wide', context, body }, { status });
    },

    async loadApp(request: AppRequest): Promise<LoadedApp> {
      const viewer = await section.loadViewer(request);
      const app = await findOwnApp(db, viewer, request.params.id);
      request.subject = { ...request.subject, appId: app.id };
      return { viewer, app, path: `${viewer.path}/${app.id}` };
    },
  };
}

interface AppPage {
  title: string;
  body: Html;
  status?: number;
}

interface LoadedApp {
  viewer: Viewer;
  app: App;
  path: string;
}

/** The app of another owner is not found. */
export async function findOwnApp(db: Database, viewer: Viewer, id: string): Promise<App> {
  const app = await findApp(db, id);
  // No business owns an external app.
  const isOwn = app?.ownerBusinessId === viewer.ownerBusinessId && app.ownerScope !== 'external';
  if (!app || !isOwn) throw notFound();
  return app;
}
