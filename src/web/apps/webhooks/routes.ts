import type { FastifyInstance } from 'fastify';
import type { App } from '../../../apps/apps.ts';
import { sendTest } from '../../../webhooks/deliveries.ts';
import {
  addEndpoint,
  changeEndpoint,
  disableEndpoint,
  enableEndpoint,
  removeEndpoint,
  replaceSecret,
} from '../../../webhooks/endpoint-changes.ts';
import { listEndpoints, rejectLoopback } from '../../../webhooks/endpoints.ts';
import { notFound } from '../../errors.ts';
import { redirectWithFlash } from '../../flash.ts';
import { formKey, readFormKey } from '../../form-keys.ts';
import { type Form, text, tryForm } from '../../forms.ts';
import { actorOf } from '../../session.ts';
import type { AppPages } from '../app-page.ts';
import { mountDelivery } from './delivery-page.ts';
import { loadEndpoint, loadEndpointList } from './endpoint-page.ts';
import {
  endpointListBody,
  newEndpointBody,
  readEndpointForm,
  removeEndpointBody,
  showEndpoint,
  signingSecretBody,
} from './endpoint-views.ts';

type ForApp = { Params: { id: string }; Body: Form };
type ForOne = { Params: { id: string; endpoint: string }; Body: Form; Querystring: Form };

/** The webhook endpoints of an app, for those who may change the app. */
export function mountWebhooks(host: FastifyInstance, pages: AppPages): void {
  const list = `${pages.section.route}/:id/endpoints`;
  for (const mount of [mountList, mountAddition]) mount(host, pages, list);
  for (const mount of [mountSettings, mountSecret, mountSwitches, mountRemoval, mountSending, mountDelivery]) {
    mount(host, pages, `${list}/:endpoint`);
  }
}

function mountList(host: FastifyInstance, pages: AppPages, path: string): void {
  const { section, db, clock, show } = pages;
  host.get<ForApp>(path, section.edit, async (request, reply) => {
    const list = await loadEndpointList(pages, request);
    const body = endpointListBody(list, await listEndpoints(db, list.app.id), clock());
    return show(reply, list.viewer, { title: `Webhooks · ${list.app.name}`, body });
  });
}

const newTitle = ({ app }: { app: App }) => `New endpoint · ${app.name}`;
const secretTitle = ({ app }: { app: App }) => `Signing secret · ${app.name}`;

function mountAddition(host: FastifyInstance, pages: AppPages, path: string): void {
  const { section, clock, show } = pages;

  host.get<ForApp>(`${path}/new`, section.edit, async (request, reply) => {
    const list = await loadEndpointList(pages, request);
    const key = formKey(pages, 'new endpoint', { owner: list.app.id });
    const body = newEndpointBody(list, { settings: { url: '', eventTypes: list.offered }, key });
    return show(reply, list.viewer, { title: newTitle(list), body });
  });

  host.post<ForApp>(path, section.edit, async (request, reply) => {
    const list = await loadEndpointList(pages, request);
    const settings = readEndpointForm(request.body);
    const key = text(request.body, 'form_key');
    const appId = list.app.id;
    const { id } = readFormKey(pages, 'new endpoint', { text: key, owner: appId });
    const add = async () => {
      rejectLoopback(settings.url, pages);
      const added = await addEndpoint(actorOf(request), pages, { app: list.app, id, ...settings }, clock());
      if (!added) return reply.redirect(`${list.path}/${id}`, 303);
      const body = signingSecretBody(`${list.path}/${id}`, added.endpoint, added.secret);
      return show(reply, list.viewer, { title: secretTitle(list), body });
    };
    return tryForm(add, (problem) => {
      const body = newEndpointBody(list, { settings, key, problem });
      return show(reply, list.viewer, { title: newTitle(list), body, status: 400 });
    });
  });
}

function mountSettings(host: FastifyInstance, pages: AppPages, path: string): void {
  const { section, db, clock } = pages;

  host.get<ForOne>(path, section.edit, async (request, reply) => {
    const context = await loadEndpoint(pages, request);
    return showEndpoint(pages, reply, context, { query: request.query });
  });

  host.post<ForOne>(path, section.edit, async (request, reply) => {
    const context = await loadEndpoint(pages, request);
    const settings = readEndpointForm(request.body);
    const change = async () => {
      rejectLoopback(settings.url, pages);
      if (!(await changeEndpoint(actorOf(request), db, { ...context, settings }, clock()))) throw notFound();
      return redirectWithFlash(reply, context.path, 'saved');
    };
    return tryForm(change, (problem) => showEndpoint(pages, reply, context, { settings, problem }));
  });
}

function mountSecret(host: FastifyInstance, pages: AppPages, path: string): void {
  const { section, db, keys, clock, show } = pages;
  host.post<ForOne>(`${path}/secret`, section.edit, async (request, reply) => {
    const { viewer, app, endpoint, path } = await loadEndpoint(pages, request);
    const replacement = { app, endpoint, fingerprint: text(request.body, 'secret_fingerprint') };
    const done = await replaceSecret(actorOf(request), { db, keys }, replacement, clock());
    // A second click must not end the secret that the app still uses.
    if (!done) return reply.redirect(path, 303);
    return show(reply, viewer, {
      title: secretTitle({ app }),
      body: signingSecretBody(path, done.endpoint, done.secret),
    });
  });
}

function mountSwitches(host: FastifyInstance, pages: AppPages, path: string): void {
  const { section, db, clock } = pages;
  const switches = [
    { verb: 'disable', change: disableEndpoint, flash: 'endpoint_disabled' },
    { verb: 'enable', change: enableEndpoint, flash: 'endpoint_enabled' },
  ] as const;
  for (const { verb, change, flash } of switches) {
    host.post<ForOne>(`${path}/${verb}`, section.edit, async (request, reply) => {
      const context = await loadEndpoint(pages, request);
      await change(actorOf(request), db, context, clock());
      return redirectWithFlash(reply, context.path, flash);
    });
  }
}

function mountRemoval(host: FastifyInstance, pages: AppPages, path: string): void {
  const { section, db, clock, show } = pages;
  host.get<ForOne>(`${path}/remove`, section.edit, async (request, reply) => {
    const context = await loadEndpoint(pages, request);
    const title = `Remove an endpoint · ${context.app.name}`;
    return show(reply, context.viewer, { title, body: removeEndpointBody(context) });
  });

  host.post<ForOne>(`${path}/remove`, section.edit, async (request, reply) => {
    const context = await loadEndpoint(pages, request);
    await removeEndpoint(actorOf(request), db, context, clock());
    return redirectWithFlash(reply, context.listPath, 'endpoint_removed');
  });
}

function mountSending(host: FastifyInstance, pages: AppPages, path: string): void {
  const { section, db, clock } = pages;
  host.post<ForOne>(`${path}/test`, section.edit, async (request, reply) => {
    const context = await loadEndpoint(pages, request);
    const { endpoint } = context;
    const send = async () => {
      await sendTest(db, endpoint, clock());
      return redirectWithFlash(reply, context.path, 'test_sent');
    };
    return tryForm(send, (problem) => showEndpoint(pages, reply, context, { problem }));
  });
}
