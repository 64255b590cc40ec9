import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addSecret, listSecrets, removeSecret } from '../../apps/app-secrets.ts';
import {
  type App,
  type AppSettings,
  changeApp,
  deleteApp,
  disableApp,
  enableApp,
  findApp,
  registerApp,
} from '../../apps/apps.ts';
import { FormError } from '../../lib/errors.ts';
import type { Html } from '../../lib/html.ts';
import { isId, newId } from '../../lib/ids.ts';
import { seal, unseal } from '../../lib/keyring.ts';
import type { Database } from '../../storage/database.ts';
import { type Form, type Problem, text } from '../fields.ts';
import { sendPage } from '../layout.ts';
import type { WebParts } from '../parts.ts';
import { forbidden, notFound } from '../refusals.ts';
import { emptyApp, readAppForm, refuseWithoutScopes } from './app-form.ts';
import { appBody, appListBody, deleteBody, newAppBody, newSecretBody } from './app-pages.ts';
import type { AppSection, Entry } from './section.ts';

type WithId = { Params: { id: string }; Body: Form };

export function mountAppPages(host: FastifyInstance, parts: WebParts, section: AppSection): void {
  const { storage, keys, clock } = parts;
  const db = storage.durable;
  const show = showIn(parts, section);

  host.get(section.path, async (request, reply) => {
    const entry = await section.enter(request);
    return show(reply, entry, appListBody(section, entry, await section.list(entry)));
  });

  host.get(`${section.path}/new`, async (request, reply) => {
    const entry = await enterToChange(section, request);
    const ticket = seal(keys, 'new app', { id: newId(clock()) });
    return show(reply, entry, newAppBody(section, entry, { settings: emptyApp, ticket }));
  });

  host.post<{ Body: Form }>(section.path, async (request, reply) => {
    const entry = await enterToChange(section, request);
    const settings = readAppForm(request.body, section);
    const ticket = text(request.body, 'ticket');
    const id = unseal<{ id: string }>(keys, 'new app', ticket)?.id;
    if (id === undefined) throw notFound();
    if (await findApp(db, id)) return reply.redirect(`${section.path}/${id}`, 303);
    return tryForm(
      async () => {
        refuseWithoutScopes(settings);
        const { ownerBusinessId, at } = entry;
        const registration = { ...settings, id, ownerBusinessId, createdBy: at.user.id };
        const { app, secret } = await storage.atomically((tx) => registerApp(tx, registration, clock()));
        return show(reply, entry, newSecretBody(section, app, secret));
      },
      (problem) => show(reply, entry, newAppBody(section, entry, { settings, ticket, problem }), 400),
    );
  });

  host.get<WithId>(`${section.path}/:id`, async (request, reply) => {
    const entry = await section.enter(request);
    const app = await findOwn(db, entry, request.params.id);
    return show(reply, entry, await viewApp(app, entry));
  });

  host.post<WithId>(`${section.path}/:id`, async (request, reply) => {
    const { entry, app } = await enterApp(request);
    const settings = readAppForm(request.body, section);
    return tryForm(
      async () => {
        refuseWithoutScopes(settings);
        await changeApp(db, app.id, settings);
        return reply.redirect(`${section.path}/${app.id}`, 303);
      },
      async (problem) => show(reply, entry, await viewApp(app, entry, settings, problem), 400),
    );
  });

  host.post<WithId>(`${section.path}/:id/secrets`, async (request, reply) => {
    const { entry, app } = await enterApp(request);
    return tryForm(
      async () => show(reply, entry, newSecretBody(section, app, await addSecret(db, app.id, clock()))),
      async (problem) => show(reply, entry, await viewApp(app, entry, app, problem), 400),
    );
  });

  host.post<{ Params: { id: string; secret: string } }>(
    `${section.path}/:id/secrets/:secret/remove`,
    async (request, reply) => {
      const { entry, app } = await enterApp(request);
      const { secret } = request.params;
      if (!isId(secret)) throw notFound();
      return tryForm(
        async () => {
          await removeSecret(db, app.id, secret);
          return reply.redirect(`${section.path}/${app.id}`, 303);
        },
        async (problem) => show(reply, entry, await viewApp(app, entry, app, problem), 400),
      );
    },
  );

  const switches = {
    disable: (app: App) => disableApp(db, app.id, clock()),
    enable: (app: App) => enableApp(db, app.id),
  };
  for (const [name, change] of Object.entries(switches)) {
    host.post<WithId>(`${section.path}/:id/${name}`, async (request, reply) => {
      const { app } = await enterApp(request);
      await change(app);
      return reply.redirect(`${section.path}/${app.id}`, 303);
    });
  }

  host.get<WithId>(`${section.path}/:id/delete`, async (request, reply) => {
    const { entry, app } = await enterApp(request);
    return show(reply, entry, deleteBody(section, entry, app));
  });

  host.post<WithId>(`${section.path}/:id/delete`, async (request, reply) => {
    const { app } = await enterApp(request);
    await deleteApp(db, app.id, clock());
    return reply.redirect(section.path, 303);
  });

  async function enterApp(request: FastifyRequest<{ Params: { id: string } }>) {
    const entry = await enterToChange(section, request);
    return { entry, app: await findOwn(db, entry, request.params.id) };
  }

  async function viewApp(app: App, entry: Entry, settings: AppSettings = app, problem?: Problem): Promise<Html> {
    return appBody(section, entry, {
      app,
      secrets: await listSecrets(db, app.id),
      settings,
      ...(problem && { problem }),
    });
  }
}

function showIn({ platformName }: WebParts, { title }: AppSection) {
  return (reply: FastifyReply, { at }: Entry, body: Html, status = 200) =>
    sendPage(reply, { title, platformName, width: 'wide', at, body }, { status });
}

async function enterToChange(section: AppSection, request: FastifyRequest): Promise<Entry> {
  const entry = await section.enter(request);
  if (!entry.canChange) throw forbidden('Only owners and admins of the business can change its apps.');
  return entry;
}

/** Another owner's app does not exist here. */
async function findOwn(db: Database, entry: Entry, id: string): Promise<App> {
  const app = await findApp(db, id);
  if (!app || app.ownerBusinessId !== entry.ownerBusinessId) throw notFound();
  return app;
}

async function tryForm<Answer>(work: () => Promise<Answer>, refuse: (problem: FormError) => Answer | Promise<Answer>) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FormError) return refuse(error);
    throw error;
  }
}
