import type { FastifyInstance } from 'fastify';
import { deleteApp } from '../../apps/apps.ts';
import { countAffected } from '../../grants/impact.ts';
import { disableApp, enableApp } from '../../grants/suspension.ts';
import { redirectWithFlash } from '../flash.ts';
import { actorOf } from '../session.ts';
import type { AppRequest, Desk } from './desk.ts';
import { deleteBody, disableBody } from './stop-pages.ts';

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
