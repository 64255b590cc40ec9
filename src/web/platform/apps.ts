import type { FastifyInstance, FastifyRequest } from 'fastify';
import { findOwnedApp, type OwnedApp, resumeApp, searchApps } from '../../apps/apps.ts';
import { type Action, recordAct } from '../../audit/acts.ts';
import { pauseAppAndTell } from '../../oauth/pauses.ts';
import { countLiveGrants, findReach } from '../../oauth/reach.ts';
import type { Database } from '../../storage/storage.ts';
import { redirectDone } from '../done.ts';
import { cutPage, PAGE_SIZE, readListing } from '../listing.ts';
import type { WebParts } from '../parts.ts';
import { findPlace } from '../place.ts';
import { notFound } from '../refusals.ts';
import { actorOf } from '../visits.ts';
import { appBody, appRow, pauseBody } from './app-views.ts';
import { longList, sendPlatformPage } from './page.ts';

const PATH = '/platform/apps';
type ForApp = { Params: { id: string } };

/** Every app, whoever owns it. */
export function mountAllApps(host: FastifyInstance, parts: WebParts): void {
  for (const mount of [mountList, mountApp, mountSwitches]) mount(host, parts);
}

function mountList(host: FastifyInstance, parts: WebParts): void {
  const { storage, clock, platformName } = parts;
  host.get(PATH, async (request, reply) => {
    const at = await findPlace(parts, request);
    const listing = { ...readListing(request.query), path: PATH };
    const { shown, next } = cutPage(await searchApps(storage.durable, { ...listing, limit: PAGE_SIZE + 1 }));
    const ids = shown.map(({ id }) => id);
    const countOf = await countLiveGrants(storage.durable, ids, clock());
    const rows = shown.map((app) => appRow(app, { platformName, connections: countOf(app.id) }));
    const title = 'All apps';
    const body = longList({ ...listing, title, label: 'Search by name, owner or client_id', rows, next });
    return sendPlatformPage(reply, parts, { at, title, body });
  });
}

function mountApp(host: FastifyInstance, parts: WebParts): void {
  const { storage, clock, platformName } = parts;
  const look = async (id: string) => {
    const app = await requireApp(storage.durable, id);
    return { app, reach: await findReach(storage.durable, { app_id: app.id }, clock()) };
  };

  host.get<ForApp>(`${PATH}/:id`, async (request, reply) => {
    const at = await findPlace(parts, request);
    const { app, reach } = await look(request.params.id);
    const body = appBody(app, { platformName, reach, csrf: at.csrf });
    return sendPlatformPage(reply, parts, { at, title: app.name, body });
  });

  host.get<ForApp>(`${PATH}/:id/pause`, async (request, reply) => {
    const at = await findPlace(parts, request);
    const { app, reach } = await look(request.params.id);
    if (app.pausedAt !== null) return reply.redirect(`${PATH}/${app.id}`, 303);
    const body = pauseBody(app, { platformName, reach, csrf: at.csrf });
    return sendPlatformPage(reply, parts, { at, title: `Pause ${app.name}`, body });
  });
}

/** Whoever was second, or sends a form once more, changes nothing and is shown how it stands. */
function mountSwitches(host: FastifyInstance, { storage, clock }: WebParts): void {
  host.post<ForApp>(`${PATH}/:id/pause`, async (request, reply) => {
    const pause = (db: Database, app: OwnedApp) => pauseAppAndTell(db, app, clock());
    return redirectDone(reply, await turn(request, 'app.paused', pause), 'app_paused');
  });

  host.post<ForApp>(`${PATH}/:id/resume`, async (request, reply) => {
    const resume = (db: Database, app: OwnedApp) => resumeApp(db, app.id);
    return redirectDone(reply, await turn(request, 'app.resumed', resume), 'app_resumed');
  });

  function turn(
    request: FastifyRequest<ForApp>,
    action: Action,
    change: (db: Database, app: OwnedApp) => Promise<boolean>,
  ): Promise<string> {
    return storage.atomically(async (db) => {
      const app = await requireApp(db, request.params.id);
      if (await change(db, app)) {
        const subject = { kind: 'app' as const, id: app.id, name: app.name };
        await recordAct(db, { action, actor: actorOf(request), businessId: app.ownerBusinessId, subject }, clock());
      }
      return `${PATH}/${app.id}`;
    });
  }
}

async function requireApp(db: Database, id: string): Promise<OwnedApp> {
  const app = await findOwnedApp(db, id);
  if (!app) throw notFound();
  return app;
}
