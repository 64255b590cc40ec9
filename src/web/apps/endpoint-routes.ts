import type { FastifyInstance } from 'fastify';
import { isId } from '../../lib/ids.ts';
import { resend, sendTest } from '../../webhooks/deliveries.ts';
import {
  addEndpoint,
  changeEndpoint,
  disableEndpoint,
  type Endpoint,
  enableEndpoint,
  findEndpoint,
  listEndpoints,
  removeEndpoint,
  replaceSecret,
} from '../../webhooks/endpoints.ts';
import { type Form, text, tryForm } from '../fields.ts';
import { notFound } from '../refusals.ts';
import type { Desk } from './desk.ts';
import { type EndpointDesk, openEndpointDesk } from './endpoint-desk.ts';
import { emptyEndpoint, readEndpointForm } from './endpoint-form.ts';
import { endpointListBody, newEndpointBody, removeEndpointBody, signingSecretBody } from './endpoint-pages.ts';

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

function mountList(host: FastifyInstance, { db, clock, show, enterEndpoints }: EndpointDesk, path: string): void {
  host.get<ForApp>(path, async (request, reply) => {
    const of = await enterEndpoints(request);
    return show(reply, of.entry, endpointListBody(of, await listEndpoints(db, of.app.id), clock()));
  });
}

function mountAddition(
  host: FastifyInstance,
  { storage, keys, clock, show, enterEndpoints }: EndpointDesk,
  path: string,
): void {
  host.get<ForApp>(`${path}/new`, async (request, reply) => {
    const of = await enterEndpoints(request);
    return show(reply, of.entry, newEndpointBody(of, { settings: emptyEndpoint }));
  });

  host.post<ForApp>(path, async (request, reply) => {
    const of = await enterEndpoints(request);
    const settings = readEndpointForm(request.body);
    const add = async () => {
      const addition = { appId: of.app.id, ...settings };
      const { endpoint, secret } = await storage.atomically((tx) => addEndpoint(tx, keys, addition, clock()));
      return show(reply, of.entry, signingSecretBody(`${of.path}/${endpoint.id}`, endpoint, secret));
    };
    return tryForm(add, (problem) => show(reply, of.entry, newEndpointBody(of, { settings, problem }), 400));
  });
}

function mountSettings(host: FastifyInstance, { db, enterEndpoint, showEndpoint }: EndpointDesk, path: string): void {
  host.get<ForOne>(path, async (request, reply) => {
    const one = await enterEndpoint(request);
    const before = text(request.query, 'before');
    if (before !== '' && !isId(before)) throw notFound();
    const notice = NOTICES[text(request.query, 'sent')];
    return showEndpoint(reply, one, { before: before || undefined, notice });
  });

  host.post<ForOne>(path, async (request, reply) => {
    const one = await enterEndpoint(request);
    const settings = readEndpointForm(request.body);
    const change = async () => {
      await changeEndpoint(db, { appId: one.app.id, id: one.endpoint.id }, settings);
      return reply.redirect(one.path, 303);
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
  { db, keys, clock, show, enterEndpoint }: EndpointDesk,
  path: string,
): void {
  host.post<ForOne>(`${path}/secret`, async (request, reply) => {
    const { entry, app, endpoint, path } = await enterEndpoint(request);
    // A second click would end the secret that the app still uses: only what the page has shown is replaced.
    if (text(request.body, 'old_secret_until') !== String(endpoint.oldSecretUntil ?? '')) {
      return reply.redirect(path, 303);
    }
    const secret = await replaceSecret(db, keys, endpoint, clock());
    const replaced = await findEndpoint(db, app.id, endpoint.id);
    if (!replaced) throw notFound();
    return show(reply, entry, signingSecretBody(path, replaced, secret));
  });
}

function mountSwitches(host: FastifyInstance, { db, clock, enterEndpoint }: EndpointDesk, path: string): void {
  const switches = {
    disable: ({ id }: Endpoint) => disableEndpoint(db, id, 'by_owner', clock()),
    enable: ({ id }: Endpoint) => enableEndpoint(db, id, clock()),
  };
  for (const [name, turn] of Object.entries(switches)) {
    host.post<ForOne>(`${path}/${name}`, async (request, reply) => {
      const { endpoint, path } = await enterEndpoint(request);
      await turn(endpoint);
      return reply.redirect(path, 303);
    });
  }
}

function mountRemoval(host: FastifyInstance, { db, show, enterEndpoint }: EndpointDesk, path: string): void {
  host.get<ForOne>(`${path}/remove`, async (request, reply) => {
    const one = await enterEndpoint(request);
    return show(reply, one.entry, removeEndpointBody(one));
  });

  host.post<ForOne>(`${path}/remove`, async (request, reply) => {
    const { app, endpoint, listPath } = await enterEndpoint(request);
    await removeEndpoint(db, app.id, endpoint.id);
    return reply.redirect(listPath, 303);
  });
}

function mountSending(
  host: FastifyInstance,
  { db, clock, enterEndpoint, showEndpoint }: EndpointDesk,
  path: string,
): void {
  host.post<ForOne>(`${path}/test`, async (request, reply) => {
    const one = await enterEndpoint(request);
    const { endpoint } = one;
    const send = async () => {
      await sendTest(db, endpoint, clock());
      return reply.redirect(`${one.path}?sent=test`, 303);
    };
    return tryForm(send, (problem) => showEndpoint(reply, one, { problem }));
  });

  const resending = `${path}/deliveries/:delivery/resend`;
  host.post<{ Params: ForOne['Params'] & { delivery: string } }>(resending, async (request, reply) => {
    const { endpoint, path } = await enterEndpoint(request);
    const { delivery } = request.params;
    if (!isId(delivery) || !(await resend(db, endpoint.id, delivery, clock()))) throw notFound();
    return reply.redirect(`${path}?sent=again`, 303);
  });
}
