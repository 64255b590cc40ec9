import type { FastifyInstance } from 'fastify';
import { recordAppAct } from '../../apps/app-acts.ts';
import { addSecret, listSecrets, removeSecret } from '../../apps/app-secrets.ts';
import { type App, changeApp, deleteApp, enableApp, findApp, holdApp, registerApp } from '../../apps/apps.ts';
import { newId } from '../../lib/ids.ts';
import { seal, unseal } from '../../lib/keyring.ts';
import { disableAppAndTell } from '../../oauth/pauses.ts';
import type { Database } from '../../storage/storage.ts';
import { redirectDone } from '../done.ts';
import { type Form, text, tryForm } from '../fields.ts';
import type { WebParts } from '../parts.ts';
import { notFound } from '../refusals.ts';
import { actorOf } from '../visits.ts';
import { mountActivity } from './activity-routes.ts';
import { changedSettings, emptyApp, readAppForm } from './app-form.ts';
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
      const registered = await storage.atomically(async (tx) => {
        const fresh = await registerApp(tx, registration, clock());
        const act = { action: 'app.registered', actor: actorOf(request) } as const;
        if (fresh) await recordAppAct(tx, { ...act, app: fresh.app }, clock());
        return fresh;
      });
      if (!registered) return reply.redirect(`${section.path}/${id}`, 303);
      return show(reply, entry, newSecretBody({ section, issuer }, registered.app, registered.secret));
    };
    return tryForm(register, (problem) =>
      show(reply, entry, newAppBody(section, entry, { settings, ticket, problem }), 400),
    );
  });
}

function mountSettings(host: FastifyInstance, { section, storage, clock, enterApp, showApp }: Desk): void {
  host.post<ForApp>(`${section.path}/:id`, async (request, reply) => {
    const { entry, app, path } = await enterApp(request);
    const settings = readAppForm(request.body, section);
    const change = async () => {
      await storage.atomically(async (tx) => {
        await holdApp(tx, app.id);
        const before = await findApp(tx, app.id);
        if (!before) throw notFound();
        await changeApp(tx, app.id, settings);
        const changed = changedSettings(before, (await findApp(tx, app.id)) ?? before);
        if (changed === '') return;
        const act = { action: 'app.changed', actor: actorOf(request), app: before, detail: { changed } } as const;
        await recordAppAct(tx, act, clock());
      });
      return redirectDone(reply, path, 'saved');
    };
    return tryForm(change, (problem) => showApp(reply, entry, { app, settings, problem }));
  });
}

function mountSecrets(host: FastifyInstance, { section, storage, clock, issuer, show, enterApp, showApp }: Desk): void {
  host.post<ForApp>(`${section.path}/:id/secrets`, async (request, reply) => {
    const { entry, app } = await enterApp(request);
    const add = async () => {
      const secret = await storage.atomically(async (tx) => {
        const added = await addSecret(tx, app.id, clock());
        const detail = { secret: `gcs_…${added.slice(-4)}` };
        await recordAppAct(tx, { action: 'secret.added', actor: actorOf(request), app, detail }, clock());
        return added;
      });
      return show(reply, entry, newSecretBody({ section, issuer }, app, secret));
    };
    return tryForm(add, (problem) => showApp(reply, entry, { app, problem }));
  });

  const removal = `${section.path}/:id/secrets/:secret/remove`;
  host.post<{ Params: { id: string; secret: string } }>(removal, async (request, reply) => {
    const { entry, app, path } = await enterApp(request);
    const { secret } = request.params;
    const remove = async () => {
      await storage.atomically(async (tx) => {
        const known = (await listSecrets(tx, app.id)).find(({ id }) => id === secret);
        if (!known || !(await removeSecret(tx, app.id, known.id, clock()))) throw notFound();
        const detail = { secret: `gcs_…${known.hint}` };
        await recordAppAct(tx, { action: 'secret.removed', actor: actorOf(request), app, detail }, clock());
      });
      return redirectDone(reply, path, 'secret_removed');
    };
    return tryForm(remove, (problem) => showApp(reply, entry, { app, problem }));
  });
}

function mountSwitches(host: FastifyInstance, { section, storage, clock, enterApp }: Desk): void {
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
    host.post<ForApp>(`${section.path}/:id/${verb}`, async (request, reply) => {
      const { app, path } = await enterApp(request);
      await storage.atomically(async (tx) => {
        if (await turn(tx, app)) await recordAppAct(tx, { action, actor: actorOf(request), app }, clock());
      });
      return redirectDone(reply, path, done);
    });
  }
}

function mountDeletion(host: FastifyInstance, { section, storage, clock, show, enterApp }: Desk): void {
  host.get<ForApp>(`${section.path}/:id/delete`, async (request, reply) => {
    const { entry, app } = await enterApp(request);
    return show(reply, entry, deleteBody(section, entry, app));
  });

  host.post<ForApp>(`${section.path}/:id/delete`, async (request, reply) => {
    const { app } = await enterApp(request);
    await storage.atomically(async (tx) => {
      if (!(await deleteApp(tx, app.id, clock()))) return;
      await recordAppAct(tx, { action: 'app.deleted', actor: actorOf(request), app }, clock());
    });
    return redirectDone(reply, section.path, 'app_deleted');
  });
}
