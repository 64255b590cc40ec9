import type { FastifyInstance } from 'fastify';
import { recordAppAudit } from '../../apps/app-acts.ts';
import { type App, deleteApp, enableApp } from '../../apps/apps.ts';
import { countAffected } from '../../grants/impact.ts';
import { disableAppAndTell } from '../../grants/suspension.ts';
import type { Database } from '../../storage/storage.ts';
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
  const { section, storage, clock, show, enterApp } = desk;
  host.get<ForApp>(`${section.path}/:id/disable`, section.edit, async (request, reply) => {
    const { entry, app, path } = await enterApp(request);
    if (app.disabledAt !== null) return reply.redirect(path, 303);
    return show(reply, entry, disableBody(await askAbout(desk, request)));
  });

  const switches = [
    {
      verb: 'disable',
      turn: (tx: Database, app: App) => disableAppAndTell(tx, app, clock()),
      action: 'app.disabled',
      done: 'app_disabled',
    },
    {
      verb: 'enable',
      turn: (tx: Database, app: App) => enableApp(tx, app.id),
      action: 'app.enabled',
      done: 'app_enabled',
    },
  ] as const;
  for (const { verb, turn, action, done } of switches) {
    host.post<ForApp>(`${section.path}/:id/${verb}`, section.edit, async (request, reply) => {
      const { app, path } = await enterApp(request);
      await storage.transaction(async (tx) => {
        if (await turn(tx, app)) await recordAppAudit(tx, { action, actor: actorOf(request), app }, clock());
      });
      return redirectWithFlash(reply, path, done);
    });
  }
}

function mountDeletion(host: FastifyInstance, desk: Desk): void {
  const { section, storage, clock, show, enterApp } = desk;
  host.get<ForApp>(`${section.path}/:id/delete`, section.edit, async (request, reply) => {
    const question = await askAbout(desk, request);
    return show(reply, question.entry, deleteBody(question));
  });

  host.post<ForApp>(`${section.path}/:id/delete`, section.edit, async (request, reply) => {
    const { app } = await enterApp(request);
    await storage.transaction(async (tx) => {
      if (!(await deleteApp(tx, app.id, clock()))) return;
      await recordAppAudit(tx, { action: 'app.deleted', actor: actorOf(request), app }, clock());
    });
    return redirectWithFlash(reply, section.path, 'app_deleted');
  });
}

async function askAbout({ section, db, clock, enterApp }: Desk, request: AppRequest) {
  const { entry, app } = await enterApp(request);
  return { section, entry, app, reach: await countAffected(db, { app_id: app.id }, clock()) };
}
