import { type App, findApp } from '../apps/apps.ts';
import { OPERATOR } from '../audit/entries.ts';
import { readSettings } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { isId } from '../lib/ids.ts';
import { createKeyring, type Keyring } from '../lib/keyring.ts';
import type { Database } from '../storage/storage.ts';
import { type LoggedDelivery, listDeliveries, resend, sendTest } from '../webhooks/deliveries.ts';
import { type EndpointAct, eventsDetail, recordEndpointAct } from '../webhooks/endpoint-acts.ts';
import { CHOICES, refuseLoopback } from '../webhooks/endpoint-fields.ts';
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
} from '../webhooks/endpoints.ts';
import { type Command, type Option, type Options, required, withStorage } from './command.ts';

const APP = { value: 'ID', help: 'The app’s client_id', required: true };
const ENDPOINT = { value: 'ID', help: 'The endpoint’s id, from endpoint list', required: true };
const LOGGED = 25;

export const endpointCommands: Command[] = [
  {
    name: 'endpoint add',
    summary: 'Say where an app wants to hear of events; prints the signing secret, which is shown this once',
    options: {
      app: APP,
      url: { value: 'URL', help: 'Where events are sent: https, or http on localhost', required: true },
      event: { value: 'TYPE', help: 'An event to hear of; all of them if left out', many: true },
    },
    run: (options, env) => {
      const keys = openServerKeys(env);
      checkUrl(options, env);
      return withStorage(env, ({ transaction }) =>
        transaction(async (db) => {
          const app = await findNamedApp(db, options);
          const addition = { appId: app.id, url: options.text('url'), eventTypes: readEvents(options, CHOICES) };
          const { endpoint, secret } = await addEndpoint(db, keys, addition, systemClock());
          await record(db, 'endpoint.added', { app, endpoint, detail: eventsDetail(endpoint) });
          return { ...endpoint, secret };
        }),
      );
    },
  },
  {
    name: 'endpoint list',
    summary: 'List an app’s endpoints',
    options: { app: APP },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => ({
        endpoints: await listEndpoints(durable, (await findNamedApp(durable, options)).id),
      })),
  },
  onEndpoint({
    name: 'endpoint change',
    summary: 'Change an endpoint; what is left out stays as it is',
    more: {
      url: { value: 'URL', help: 'Where events are sent: https, or http on localhost' },
      event: { value: 'TYPE', help: 'An event to hear of; replaces all', many: true },
    },
    act: async (db, { app, endpoint }, { options, env }) => {
      if (options.text('url')) checkUrl(options, env);
      const { appId, id, url, eventTypes } = endpoint;
      const settings = { url: options.text('url') || url, eventTypes: readEvents(options, eventTypes) };
      const changed = await changeEndpoint(db, { appId, id }, settings);
      if (changed) await record(db, 'endpoint.changed', { app, endpoint: changed, detail: eventsDetail(changed) });
    },
  }),
  onEndpoint({
    name: 'endpoint disable',
    summary: 'Switch an endpoint off; events wait until it is enabled again',
    act: async (db, on) => {
      const isChange = await disableEndpoint(db, on.endpoint.id, 'by_owner', systemClock());
      if (isChange) await record(db, 'endpoint.disabled', on);
    },
  }),
  onEndpoint({
    name: 'endpoint enable',
    summary: 'Switch an endpoint on; what has waited is sent',
    act: async (db, on) => {
      if (await enableEndpoint(db, on.endpoint.id, systemClock())) await record(db, 'endpoint.enabled', on);
    },
  }),
  onEndpoint({
    name: 'endpoint remove',
    summary: 'Remove an endpoint, for good',
    act: async (db, on) => {
      if (await removeEndpoint(db, on.app.id, on.endpoint.id)) await record(db, 'endpoint.removed', on);
      return { removed: true };
    },
  }),
  onEndpoint({
    name: 'endpoint replace-secret',
    summary: 'Make a new signing secret; prints it, this once. The old one signs beside it for a day',
    act: async (db, on, { env }) => {
      const secret = await replaceSecret(db, openServerKeys(env), on.endpoint, systemClock());
      await record(db, 'endpoint.secret_replaced', on);
      return { secret };
    },
  }),
  onEndpoint({
    name: 'endpoint test',
    summary: 'Send a test event; endpoint log tells how it fared',
    act: async (db, { endpoint }) => ({ eventId: await sendTest(db, endpoint, systemClock()) }),
  }),
  onEndpoint({
    name: 'endpoint log',
    summary: `List the newest ${LOGGED} deliveries, with what became of each attempt`,
    act: async (db, { endpoint }) => ({
      deliveries: (await listDeliveries(db, { endpointId: endpoint.id, limit: LOGGED })).map(describe),
    }),
  }),
  onEndpoint({
    name: 'endpoint resend',
    summary: 'Send a delivery once more, whatever became of it',
    more: { delivery: { value: 'ID', help: 'The delivery’s id, from endpoint log', required: true } },
    act: async (db, { endpoint }, { options }) => {
      const delivery = options.text('delivery');
      const found = isId(delivery) && (await resend(db, endpoint.id, delivery, systemClock()));
      required(found || undefined, 'delivery', 'delivery to this endpoint');
    },
  }),
];

interface OnEndpoint {
  name: string;
  summary: string;
  more?: Record<string, Option>;
  act(db: Database, on: Named, call: { options: Options; env: NodeJS.ProcessEnv }): Promise<unknown>;
}

interface Named {
  app: App;
  endpoint: Endpoint;
}

/** A command that names one endpoint, does one thing to it, and prints it as it is afterwards. */
function onEndpoint({ name, summary, more = {}, act }: OnEndpoint): Command {
  return {
    name,
    summary,
    options: { app: APP, endpoint: ENDPOINT, ...more },
    run: (options, env) =>
      withStorage(env, ({ transaction }) =>
        transaction(async (db) => {
          const app = await findNamedApp(db, options);
          const id = options.text('endpoint');
          const find = async () => (isId(id) ? findEndpoint(db, app.id, id) : undefined);
          const endpoint = required(await find(), 'endpoint', 'endpoint of this app');
          const result = await act(db, { app, endpoint }, { options, env });
          return { ...((await find()) ?? endpoint), ...(result as object | undefined) };
        }),
      ),
  };
}

async function record(db: Database, action: EndpointAct['action'], on: Omit<EndpointAct, 'action' | 'actor'>) {
  await recordEndpointAct(db, { action, actor: OPERATOR, ...on }, systemClock());
}

async function findNamedApp(db: Database, options: Options): Promise<App> {
  return required(await findApp(db, options.text('app')), 'app', 'app');
}

function readEvents(options: Options, usual: readonly string[]): string[] {
  const named = options.list('event').flatMap((text) => text.split(/[\s,]+/).filter(Boolean));
  const unknown = named.filter((type) => !CHOICES.some((known) => known === type));
  if (unknown.length > 0) {
    throw new FormError('event', `No such event: ${unknown.join(' ')}. There are ${CHOICES.join(', ')}.`);
  }
  return options.list('event').length > 0 ? named : [...usual];
}

function checkUrl(options: Options, env: NodeJS.ProcessEnv): void {
  refuseLoopback(options.text('url'), { allowsLoopback: readSettings(env).webhooksToLoopback });
}

/** The server must be able to read again what is stored here: so the same keys, found the same way. */
function openServerKeys(env: NodeJS.ProcessEnv): Keyring {
  return createKeyring(readSettings(env).secretKeys);
}

function describe({ attemptsMade, endpointId: _, event, ...delivery }: LoggedDelivery) {
  return { ...delivery, type: event?.type ?? '', attempts: attemptsMade };
}
