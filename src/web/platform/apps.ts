import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findOwnedApp, type OwnedApp, searchApps } from '../../apps/app-search.ts';
import { countAffected, countConnections } from '../../grants/impact.ts';
import { pauseApp, resumeApp } from '../../grants/suspension.ts';
import type { Database } from '../../storage/storage.ts';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, type Problem, text, tryForm } from '../forms.ts';
import { PAGE_SIZE, readListing, takePage } from '../listing.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf } from '../session.ts';
import { appBody, appRow, pauseBody } from './app-views.ts';
import { findReason, longList, reasonDetail, sendPlatformPage } from './page.ts';

const PATH = '/platform/apps';
type ForApp = { Params: { id: string }; Body: Form | undefined };

/** Every app, whoever owns it. */
export function mountAllApps(host: FastifyInstance, deps: WebDeps): void {
  for (const mount of [mountList, mountApp, mountSwitches]) mount(host, deps);
}

function mountList(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, platformName } = deps;
  host.get(PATH, access('platform_admin'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const listing = { ...readListing(request.query), path: PATH };
    const { shown, next } = takePage(await searchApps(storage.durable, { ...listing, limit: PAGE_SIZE + 1 }));
    const ids = shown.map(({ id }) => id);
    const countOf = await countConnections(storage.durable, ids, clock());
    const rows = shown.map((app) => appRow(app, { platformName, connections: countOf(app.id) }));
    const title = 'All apps';
    const body = longList({ ...listing, title, label: 'Search by name, owner or client_id', rows, next });
    return sendPlatformPage(reply, deps, { context, title, body });
  });
}

function mountApp(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, platformName } = deps;
  host.get<ForApp>(`${PATH}/:id`, access('platform_admin'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const app = await requireApp(storage.durable, request.params.id);
    const reach = await countAffected(storage.durable, { app_id: app.id }, clock());
    const reason = app.pausedAt === null ? undefined : await findReason(storage.durable, app.id, 'app.paused');
    const body = appBody(app, { platformName, reach, reason, csrf: context.csrf });
    return sendPlatformPage(reply, deps, { context, title: app.name, body });
  });

  host.get<ForApp>(`${PATH}/:id/pause`, access('platform_admin'), async (request, reply) => {
    const app = await requireApp(storage.durable, request.params.id);
    if (app.pausedAt !== null) return reply.redirect(`${PATH}/${app.id}`, 303);
    return askToPause(deps, request, reply, app);
  });
}

/** Whoever was second, or sends a form once more, changes nothing and is shown how it stands. */
function mountSwitches(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  host.post<ForApp>(`${PATH}/:id/pause`, access('platform_admin'), async (request, reply) => {
    const app = await requireApp(storage.durable, request.params.id);
    const pause = async () => {
      await pauseApp(actorOf(request), storage.durable, { app, ...reasonDetail(request.body) }, clock());
      return redirectWithFlash(reply, `${PATH}/${app.id}`, 'app_paused');
    };
    return tryForm(pause, (problem) => askToPause(deps, request, reply, app, problem));
  });

  host.post<ForApp>(`${PATH}/:id/resume`, access('platform_admin'), async (request, reply) => {
    const app = await requireApp(storage.durable, request.params.id);
    await resumeApp(actorOf(request), storage.durable, app, clock());
    return redirectWithFlash(reply, `${PATH}/${app.id}`, 'app_resumed');
  });
}

async function askToPause(
  deps: WebDeps,
  request: FastifyRequest<ForApp>,
  reply: FastifyReply,
  app: OwnedApp,
  problem?: Problem,
): Promise<FastifyReply> {
  const { storage, clock, platformName } = deps;
  const context = await loadPageContext(deps, request);
  const reach = await countAffected(storage.durable, { app_id: app.id }, clock());
  const around = { platformName, reach, csrf: context.csrf, typed: text(request.body ?? {}, 'reason') };
  const body = pauseBody(app, problem ? { ...around, problem } : around);
  return sendPlatformPage(reply, deps, { context, title: `Pause ${app.name}`, body, status: problem ? 400 : 200 });
}

async function requireApp(db: Database, id: string): Promise<OwnedApp> {
  const app = await findOwnedApp(db, id);
  if (!app) throw notFound();
  return app;
}
