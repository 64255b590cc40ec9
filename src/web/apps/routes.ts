import type { FastifyInstance } from 'fastify';
import { addSecret, removeSecret } from '../../apps/app-secrets.ts';
import { type App, changeApp, deleteApp, enableApp, registerApp } from '../../apps/apps.ts';
import { isId, newId } from '../../lib/ids.ts';
import { seal, unseal } from '../../lib/keyring.ts';
import { pauseApp } from '../../oauth/pauses.ts';
import { type Form, text, tryForm } from '../fields.ts';
import type { WebParts } from '../parts.ts';
import { notFound } from '../refusals.ts';
import { mountActivity } from './activity-routes.ts';
import { emptyApp, readAppForm } from './app-form.ts';
import { appListBody, deleteBody, newAppBody, newSecretBody } from './app-pages.ts';
import { type Desk, openDesk } from './desk.ts';
import { mountEndpoints } from './endpoint-routes.ts';
import type { AppSection } from './section.ts';
import { mountTryIt } from './try-routes.ts';

type ForApp = { Params: { id: string }; Body: Form };

export function mountAppPages(host: FastifyInstance, parts: WebParts, section: AppSection): void {
  const desk = openDesk(parts, section);
  for (const mount of [
    mountLists,
    mountRegistration,
    mountSettings,
    mountSecrets,
    mountSwitches,
    mountDeletion,
    mountEndpoints,
    mountActivity,
    mountTryIt,
  ]) {
    mount(host, desk);
  }
}

function mountLists(host: FastifyInstance, { section, show, findOwn, showApp }: Desk): void {
  host.get(section.path, async (request, reply) => {
    const entry = await section.enter(request);
    return show(reply, entry, appListBody(section, entry, await section.list(entry)));
  });

  host.get<ForApp>(`${section.path}/:id`, async (request, reply) => {
    const entry = await section.enter(request);
    return showApp(reply, entry, { app: await findOwn(entry, request.params.id) });
  });
}

function mountRegistration(
  host: FastifyInstance,
  { section, storage, keys, clock, issuer, show, enterToChange }: Desk,
): void {
  host.get(`${section.path}/new`, async (request, reply) => {
    const entry = await enterToChange(request);
    const ticket = seal(keys, 'new app', { id: newId(clock()) });
    return show(reply, entry, newAppBody(section, entry, { settings: emptyApp, ticket }));
  });

  host.post<{ Body: Form }>(section.path, async (request, reply) => {
    const entry = await enterToChange(request);
    const settings = readAppForm(request.body, section);
    const ticket = text(request.body, 'ticket');
    const id = unseal<{ id: string }>(keys, 'new app', ticket)?.id;
    if (id === undefined) throw notFound();
    const register = async () => {
      const registration = { ...settings, id, ownerBusinessId: entry.ownerBusinessId, createdBy: entry.at.user.id };
      const registered = await storage.atomically((tx) => registerApp(tx, registration, clock()));
      if (!registered) return reply.redirect(`${section.path}/${id}`, 303);
      return show(reply, entry, newSecretBody({ section, issuer }, registered.app, registered.secret));
    };
    return tryForm(register, (problem) =>
      show(reply, entry, newAppBody(section, entry, { settings, ticket, problem }), 400),
    );
  });
}

function mountSettings(host: FastifyInstance, { section, db, enterApp, showApp }: Desk): void {
  host.post<ForApp>(`${section.path}/:id`, async (request, reply) => {
    const { entry, app, path } = await enterApp(request);
    const settings = readAppForm(request.body, section);
    const change = async () => {
      await changeApp(db, app.id, settings);
      return reply.redirect(path, 303);
    };
    return tryForm(change, (problem) => showApp(reply, entry, { app, settings, problem }));
  });
}

function mountSecrets(host: FastifyInstance, { section, storage, clock, issuer, show, enterApp, showApp }: Desk): void {
  host.post<ForApp>(`${section.path}/:id/secrets`, async (request, reply) => {
    const { entry, app } = await enterApp(request);
    const add = async () => {
      const secret = await storage.atomically((tx) => addSecret(tx, app.id, clock()));
      return show(reply, entry, newSecretBody({ section, issuer }, app, secret));
    };
    return tryForm(add, (problem) => showApp(reply, entry, { app, problem }));
  });

  const removal = `${section.path}/:id/secrets/:secret/remove`;
  host.post<{ Params: { id: string; secret: string } }>(removal, async (request, reply) => {
    const { entry, app, path } = await enterApp(request);
    const { secret } = request.params;
    const remove = async () => {
      const removed = isId(secret) && (await storage.atomically((tx) => removeSecret(tx, app.id, secret, clock())));
      if (!removed) throw notFound();
      return reply.redirect(path, 303);
    };
    return tryForm(remove, (problem) => showApp(reply, entry, { app, problem }));
  });
}

function mountSwitches(host: FastifyInstance, { section, storage, clock, db, enterApp }: Desk): void {
  const switches = {
    disable: (app: App) => storage.atomically((tx) => pauseApp(tx, app, clock())),
    enable: (app: App) => enableApp(db, app.id),
  };
  for (const [name, turn] of Object.entries(switches)) {
    host.post<ForApp>(`${section.path}/:id/${name}`, async (request, reply) => {
      const { app, path } = await enterApp(request);
      await turn(app);
      return reply.redirect(path, 303);
    });
  }
}

function mountDeletion(host: FastifyInstance, { section, clock, db, show, enterApp }: Desk): void {
  host.get<ForApp>(`${section.path}/:id/delete`, async (request, reply) => {
    const { entry, app } = await enterApp(request);
    return show(reply, entry, deleteBody(section, entry, app));
  });

  host.post<ForApp>(`${section.path}/:id/delete`, async (request, reply) => {
    const { app } = await enterApp(request);
    await deleteApp(db, app.id, clock());
    return reply.redirect(section.path, 303);
  });
}
