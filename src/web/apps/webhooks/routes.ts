import type { FastifyInstance } from 'fastify';
import { isId } from '../../../lib/ids.ts';
import { resend, sendTest } from '../../../webhooks/deliveries.ts';
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
import type { Desk } from '../app-page.ts';
import { type EndpointDesk, openEndpointDesk } from './endpoint-page.ts';
import {
  emptyEndpoint,
  endpointListBody,
  newEndpointBody,
  readEndpointForm,
  removeEndpointBody,
  signingSecretBody,
} from './endpoint-views.ts';

type ForApp = { Params: { id: string }; Body: Form };
type ForOne = { Params: { id: string; endpoint: string }; Body: Form; Querystring: Form };

/** Where an app hears of what happens: below the app's own page, for those who may change the app. */
export function mountEndpoints(host: FastifyInstance, desk: Desk): void {
  const endpoints = openEndpointDesk(desk);
  const list = `${desk.section.path}/:id/endpoints`;
  for (const mount of [mountList, mountAddition]) mount(host, endpoints, list);
  for (const mount of [mountSettings, mountSecret, mountSwitches, mountRemoval, mountSending]) {
    mount(host, endpoints, `${list}/:endpoint`);
  }
}

function mountList(
  host: FastifyInstance,
  { section, db, clock, show, enterEndpoints }: EndpointDesk,
  path: string,
): void {
  host.get<ForApp>(path, section.edit, async (request, reply) => {
    const of = await enterEndpoints(request);
    return show(reply, of.entry, endpointListBody(of, await listEndpoints(db, of.app.id), clock()));
  });
}

function mountAddition(host: FastifyInstance, desk: EndpointDesk, path: string): void {
  const { section, clock, show, enterEndpoints } = desk;

  host.get<ForApp>(`${path}/new`, section.edit, async (request, reply) => {
    const of = await enterEndpoints(request);
    const ticket = formKey(desk, 'new endpoint', { owner: of.app.id });
    return show(reply, of.entry, newEndpointBody(of, { settings: emptyEndpoint, ticket }));
  });

  host.post<ForApp>(path, section.edit, async (request, reply) => {
    const of = await enterEndpoints(request);
    const settings = readEndpointForm(request.body);
    const ticket = text(request.body, 'ticket');
    const appId = of.app.id;
    const { id } = readFormKey(desk, 'new endpoint', { sealed: ticket, owner: appId });
    const add = async () => {
      rejectLoopback(settings.url, desk);
      const added = await addEndpoint(actorOf(request), desk, { app: of.app, id, ...settings }, clock());
      if (!added) return reply.redirect(`${of.path}/${id}`, 303);
      return show(reply, of.entry, signingSecretBody(`${of.path}/${id}`, added.endpoint, added.secret));
    };
    return tryForm(add, (problem) => show(reply, of.entry, newEndpointBody(of, { settings, ticket, problem }), 400));
  });
}

function mountSettings(host: FastifyInstance, desk: EndpointDesk, path: string): void {
  const { section, db, clock, enterEndpoint, showEndpoint } = desk;

  host.get<ForOne>(path, section.edit, async (request, reply) => {
    const one = await enterEndpoint(request);
    const before = text(request.query, 'before');
    if (before !== '' && !isId(before)) throw notFound();
    const notice = NOTICES[text(request.query, 'sent')];
    return showEndpoint(reply, one, { before: before || undefined, notice });
  });

  host.post<ForOne>(path, section.edit, async (request, reply) => {
    const one = await enterEndpoint(request);
    const settings = readEndpointForm(request.body);
    const change = async () => {
      rejectLoopback(settings.url, desk);
      if (!(await changeEndpoint(actorOf(request), db, { ...one, settings }, clock()))) throw notFound();
      return redirectWithFlash(reply, one.path, 'saved');
    };
    return tryForm(change, (problem) => showEndpoint(reply, one, { settings, problem }));
  });
}

const NOTICES: Record<string, string | undefined> = {
  __proto__: null as never,
  test: 'A test event is on its way. Load this page again to see how it fared.',
  again: 'It is on its way again. Load this page again to see how it fared.',
};

function mountSecret(
  host: FastifyInstance,
  { section, db, keys, clock, show, enterEndpoint }: EndpointDesk,
  path: string,
): void {
  host.post<ForOne>(`${path}/secret`, section.edit, async (request, reply) => {
    const { entry, app, endpoint, path } = await enterEndpoint(request);
    const replacement = { app, endpoint, fingerprint: text(request.body, 'secret_mark') };
    const done = await replaceSecret(actorOf(request), { db, keys }, replacement, clock());
    // A second click must not end the secret that the app still uses.
    if (!done) return reply.redirect(path, 303);
    return show(reply, entry, signingSecretBody(path, done.endpoint, done.secret));
  });
}

function mountSwitches(host: FastifyInstance, { section, db, clock, enterEndpoint }: EndpointDesk, path: string): void {
  const switches = [
    { verb: 'disable', change: disableEndpoint, flash: 'endpoint_disabled' },
    { verb: 'enable', change: enableEndpoint, flash: 'endpoint_enabled' },
  ] as const;
  for (const { verb, change, flash } of switches) {
    host.post<ForOne>(`${path}/${verb}`, section.edit, async (request, reply) => {
      const one = await enterEndpoint(request);
      await change(actorOf(request), db, one, clock());
      return redirectWithFlash(reply, one.path, flash);
    });
  }
}

function mountRemoval(
  host: FastifyInstance,
  { section, db, clock, show, enterEndpoint }: EndpointDesk,
  path: string,
): void {
  host.get<ForOne>(`${path}/remove`, section.edit, async (request, reply) => {
    const one = await enterEndpoint(request);
    return show(reply, one.entry, removeEndpointBody(one));
  });

  host.post<ForOne>(`${path}/remove`, section.edit, async (request, reply) => {
    const one = await enterEndpoint(request);
    await removeEndpoint(actorOf(request), db, one, clock());
    return redirectWithFlash(reply, one.listPath, 'endpoint_removed');
  });
}

function mountSending(
  host: FastifyInstance,
  { section, db, clock, enterEndpoint, showEndpoint }: EndpointDesk,
  path: string,
): void {
  host.post<ForOne>(`${path}/test`, section.edit, async (request, reply) => {
    const one = await enterEndpoint(request);
    const { endpoint } = one;
    const send = async () => {
      await sendTest(db, endpoint, clock());
      return reply.redirect(`${one.path}?sent=test`, 303);
    };
    return tryForm(send, (problem) => showEndpoint(reply, one, { problem }));
  });

  const resending = `${path}/deliveries/:delivery/resend`;
  host.post<{ Params: ForOne['Params'] & { delivery: string } }>(resending, section.edit, async (request, reply) => {
    const { endpoint, path } = await enterEndpoint(request);
    const { delivery } = request.params;
    if (!isId(delivery) || !(await resend(db, endpoint.id, delivery, clock()))) throw notFound();
    return reply.redirect(`${path}?sent=again`, 303);
  });
}
