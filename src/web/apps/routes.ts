import type { FastifyInstance } from 'fastify';
import { changedSettings, recordAppAct } from '../../apps/app-acts.ts';
import { changeApp, findApp, holdApp, registerApp } from '../../apps/apps.ts';
import { redirectDone } from '../done.ts';
import { type Form, text, tryForm } from '../fields.ts';
import { readListing } from '../listing.ts';
import type { WebParts } from '../parts.ts';
import { notFound } from '../refusals.ts';
import { makeTicket, readTicket } from '../tickets.ts';
import { actorOf } from '../visits.ts';
import { mountActivity } from './activity-routes.ts';
import { emptyApp, readAppForm } from './app-form.ts';
import { appListBody, readAppList } from './app-list.ts';
import { newAppBody, newSecretBody } from './app-pages.ts';
import { type Desk, openDesk } from './desk.ts';
import { mountEndpoints } from './endpoints/routes.ts';
import { mountSecrets } from './secret-routes.ts';
import type { AppSection } from './section.ts';
import { mountStops } from './stop-routes.ts';
import { mountTryIt } from './try/routes.ts';

type ForApp = { Params: { id: string }; Body: Form };

export function mountAppPages(host: FastifyInstance, parts: WebParts, section: AppSection): void {
  const desk = openDesk(parts, section);
  for (const mount of [
    mountLists,
    mountRegistration,
    mountSettings,
    mountSecrets,
    mountStops,
    mountEndpoints,
    mountActivity,
    mountTryIt,
  ]) {
    mount(host, desk);
  }
}

function mountLists(host: FastifyInstance, desk: Desk): void {
  const { section, show, lookAtApp, showApp } = desk;
  host.get(section.path, async (request, reply) => {
    const entry = await section.enter(request);
    const list = await readAppList(desk, entry, readListing(request.query));
    return show(reply, entry, appListBody(section, entry, list));
  });

  host.get<ForApp>(`${section.path}/:id`, async (request, reply) => {
    const { entry, app } = await lookAtApp(request);
    return showApp(reply, entry, { app });
  });
}

function mountRegistration(host: FastifyInstance, desk: Desk): void {
  const { section, storage, clock, issuer, show, enterToChange } = desk;
  host.get(`${section.path}/new`, async (request, reply) => {
    const entry = await enterToChange(request);
    const ticket = makeTicket(desk, 'new app', { owner: entry.ownerBusinessId });
    return show(reply, entry, newAppBody(section, entry, { settings: emptyApp, ticket }));
  });

  host.post<{ Body: Form }>(section.path, async (request, reply) => {
    const entry = await enterToChange(request);
    const settings = readAppForm(request.body, section);
    const ticket = text(request.body, 'ticket');
    const { id } = readTicket(desk, 'new app', { sealed: ticket, owner: entry.ownerBusinessId });
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
