import type { FastifyInstance } from 'fastify';
import { lockApp } from '../../../apps/apps.ts';
import { isId } from '../../../lib/ids.ts';
import type { Database } from '../../../storage/storage.ts';
import { resend, sendTest } from '../../../webhooks/deliveries.ts';
import { eventsDetail, recordEndpointAct } from '../../../webhooks/endpoint-acts.ts';
import { refuseLoopback } from '../../../webhooks/endpoint-fields.ts';
import {
  addEndpoint,
  changeEndpoint,
  disableEndpoint,
  type Endpoint,
  enableEndpoint,
  findEndpoint,
  listEndpoints,
  removeEndpoint,
  replaceMarkedSecret,
} from '../../../webhooks/endpoints.ts';
import { notFound } from '../../errors.ts';
import { redirectWithFlash } from '../../flash.ts';
import { formKey, readFormKey } from '../../form-keys.ts';
import { type Form, text, tryForm } from '../../forms.ts';
import { actorOf } from '../../session.ts';
import type { Desk } from '../desk.ts';
import { type EndpointDesk, openEndpointDesk } from './desk.ts';
import { emptyEndpoint, readEndpointForm } from './form.ts';
import { endpointListBody, newEndpointBody, removeEndpointBody, signingSecretBody } from './pages.ts';

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
  const { section, storage, keys, clock, show, enterEndpoints } = desk;

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
      refuseLoopback(settings.url, desk);
      const added = await storage.transaction(async (tx) => {
        await lockApp(tx, appId);
        if (await findEndpoint(tx, appId, id)) return undefined;
        const fresh = await addEndpoint(tx, keys, { id, appId, ...settings }, clock());
        const act = { actor: actorOf(request), app: of.app, ...fresh, detail: eventsDetail(fresh.endpoint) };
        await recordEndpointAct(tx, { action: 'endpoint.added', ...act }, clock());
        return fresh;
      });
      if (!added) return reply.redirect(`${of.path}/${id}`, 303);
      return show(reply, of.entry, signingSecretBody(`${of.path}/${id}`, added.endpoint, added.secret));
    };
    return tryForm(add, (problem) => show(reply, of.entry, newEndpointBody(of, { settings, ticket, problem }), 400));
  });
}

function mountSettings(host: FastifyInstance, desk: EndpointDesk, path: string): void {
  const { section, storage, clock, enterEndpoint, showEndpoint } = desk;

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
      refuseLoopback(settings.url, desk);
      await storage.transaction(async (tx) => {
        const endpoint = await changeEndpoint(tx, { appId: one.app.id, id: one.endpoint.id }, settings);
        if (!endpoint) throw notFound();
        const act = { actor: actorOf(request), app: one.app, endpoint, detail: eventsDetail(endpoint) };
        await recordEndpointAct(tx, { action: 'endpoint.changed', ...act }, clock());
      });
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
  { section, storage, keys, clock, show, enterEndpoint }: EndpointDesk,
  path: string,
): void {
  host.post<ForOne>(`${path}/secret`, section.edit, async (request, reply) => {
    const { entry, app, endpoint, path } = await enterEndpoint(request);
    const mark = text(request.body, 'secret_mark');
    const done = await storage.transaction(async (tx) => {
      const secret = await replaceMarkedSecret(tx, keys, { id: endpoint.id, mark }, clock());
      const replaced = await findEndpoint(tx, app.id, endpoint.id);
      if (secret === undefined || !replaced) return undefined;
      const act = { actor: actorOf(request), app, endpoint };
      await recordEndpointAct(tx, { action: 'endpoint.secret_replaced', ...act }, clock());
      return { replaced, secret };
    });
    // A second click would end the secret that the app still uses: only the one that the page was about is replaced.
    if (!done) return reply.redirect(path, 303);
    return show(reply, entry, signingSecretBody(path, done.replaced, done.secret));
  });
}

function mountSwitches(
  host: FastifyInstance,
  { section, storage, clock, enterEndpoint }: EndpointDesk,
  path: string,
): void {
  const switches = {
    disable: {
      action: 'endpoint.disabled',
      done: 'endpoint_disabled',
      turn: (tx: Database, { id }: Endpoint) => disableEndpoint(tx, id, 'by_owner', clock()),
    },
    enable: {
      action: 'endpoint.enabled',
      done: 'endpoint_enabled',
      turn: (tx: Database, { id }: Endpoint) => enableEndpoint(tx, id, clock()),
    },
  } as const;
  for (const [name, { action, done, turn }] of Object.entries(switches)) {
    host.post<ForOne>(`${path}/${name}`, section.edit, async (request, reply) => {
      const { app, endpoint, path } = await enterEndpoint(request);
      await storage.transaction(async (tx) => {
        const isTurned = await turn(tx, endpoint);
        if (isTurned) await recordEndpointAct(tx, { action, actor: actorOf(request), app, endpoint }, clock());
      });
      return redirectWithFlash(reply, path, done);
    });
  }
}

function mountRemoval(
  host: FastifyInstance,
  { section, storage, clock, show, enterEndpoint }: EndpointDesk,
  path: string,
): void {
  host.get<ForOne>(`${path}/remove`, section.edit, async (request, reply) => {
    const one = await enterEndpoint(request);
    return show(reply, one.entry, removeEndpointBody(one));
  });

  host.post<ForOne>(`${path}/remove`, section.edit, async (request, reply) => {
    const { app, endpoint, listPath } = await enterEndpoint(request);
    await storage.transaction(async (tx) => {
      if (!(await removeEndpoint(tx, app.id, endpoint.id))) return;
      await recordEndpointAct(tx, { action: 'endpoint.removed', actor: actorOf(request), app, endpoint }, clock());
    });
    return redirectWithFlash(reply, listPath, 'endpoint_removed');
  });
}

function mountSending(
  host: FastifyInstance,
  { section, storage, clock, enterEndpoint, showEndpoint }: EndpointDesk,
  path: string,
): void {
  host.post<ForOne>(`${path}/test`, section.edit, async (request, reply) => {
    const one = await enterEndpoint(request);
    const { endpoint } = one;
    const send = async () => {
      await storage.transaction((tx) => sendTest(tx, endpoint, clock()));
      return reply.redirect(`${one.path}?sent=test`, 303);
    };
    return tryForm(send, (problem) => showEndpoint(reply, one, { problem }));
  });

  const resending = `${path}/deliveries/:delivery/resend`;
  host.post<{ Params: ForOne['Params'] & { delivery: string } }>(resending, section.edit, async (request, reply) => {
    const { endpoint, path } = await enterEndpoint(request);
    const { delivery } = request.params;
    const again = () => storage.transaction((tx) => resend(tx, endpoint.id, delivery, clock()));
    if (!isId(delivery) || !(await again())) throw notFound();
    return reply.redirect(`${path}?sent=again`, 303);
  });
}
