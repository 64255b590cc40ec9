import type { FastifyInstance } from 'fastify';
import { type App, type AppSettings, changeApp, registerApp } from '../../apps/apps.ts';
import { html } from '../../lib/html.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { formKey, readFormKey } from '../form-keys.ts';
import { type Form, text, tryForm } from '../forms.ts';
import { readListing } from '../listing.ts';
import { actorOf } from '../session.ts';
import { mountActivity } from './activity-routes.ts';
import { emptyApp, readAppForm } from './app-form.ts';
import { appListBody, readAppList } from './app-list.ts';
import { type AppRequest, type AppSection, type Desk, openDesk } from './app-page.ts';
import { mountSecrets } from './app-secrets.ts';
import { newAppBody, newSecretBody, nextSteps } from './app-settings.ts';
import { mountStops } from './app-status.ts';
import { mountTryIt } from './playground/routes.ts';
import { mountEndpoints } from './webhooks/routes.ts';

type ForApp = { Params: { id: string }; Body: Form };

export function mountAppPages(host: FastifyInstance, deps: WebDeps, section: AppSection): void {
  const desk = openDesk(deps, section);
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
  host.get(section.path, section.list, async (request, reply) => {
    const entry = await section.enter(request);
    const list = await readAppList(desk, entry, readListing(request.query));
    return show(reply, entry, appListBody(section, entry, list));
  });

  host.get<ForApp>(`${section.path}/:id`, section.view, async (request, reply) => {
    const { entry, app } = await lookAtApp(request);
    return showApp(reply, entry, { app });
  });
}

function mountRegistration(host: FastifyInstance, desk: Desk): void {
  const { section, db, clock, issuer, show, enterToChange } = desk;
  host.get(`${section.path}/new`, section.edit, async (request, reply) => {
    const entry = await enterToChange(request);
    const ticket = formKey(desk, 'new app', { owner: entry.ownerBusinessId });
    return show(reply, entry, newAppBody(section, entry, { settings: emptyApp, ticket }));
  });

  host.post<{ Body: Form }>(section.path, section.list, async (request, reply) => {
    const entry = await enterToChange(request);
    const settings = readAppForm(request.body, section);
    const ticket = text(request.body, 'ticket');
    const { id } = readFormKey(desk, 'new app', { sealed: ticket, owner: entry.ownerBusinessId });
    const register = async () => {
      const newApp = { ...settings, id, ownerBusinessId: entry.ownerBusinessId };
      const registered = await registerApp(actorOf(request), db, newApp, clock());
      if (!registered) return reply.redirect(`${section.path}/${id}`, 303);
      const at = { section, issuer };
      const body = html`${newSecretBody(at, registered.app, registered.secret)}${nextSteps(at, registered.app)}`;
      return show(reply, entry, body);
    };
    return tryForm(register, (problem) =>
      show(reply, entry, newAppBody(section, entry, { settings, ticket, problem }), 400),
    );
  });
}

function mountSettings(host: FastifyInstance, desk: Desk): void {
  const { section, enterApp, showApp } = desk;
  host.post<ForApp>(`${section.path}/:id`, section.edit, async (request, reply) => {
    const { entry, app, path } = await enterApp(request);
    const settings = readAppForm(request.body, section);
    const change = async () => {
      await storeSettings(desk, request, () => settings);
      return redirectWithFlash(reply, path, 'saved');
    };
    return tryForm(change, (problem) => showApp(reply, entry, { app, settings, problem }));
  });

  host.post<ForApp>(`${section.path}/:id/require-pkce`, section.edit, async (request, reply) => {
    const { path } = await enterApp(request);
    await storeSettings(desk, request, (before) => ({ ...before, requiresPkce: true }));
    return redirectWithFlash(reply, path, 'pkce_required');
  });
}

async function storeSettings(
  { db, clock }: Desk,
  request: AppRequest,
  change: (before: App) => AppSettings,
): Promise<void> {
  const changed = await changeApp(actorOf(request), db, { appId: request.params.id, change }, clock());
  if (!changed) throw notFound();
}
