import { type App, findApp } from '../apps/apps.ts';
import { OPERATOR } from '../audit/entries.ts';
import { readServesResources, readSettings, readWebhooksToLoopback } from '../config/settings.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { isId } from '../lib/ids.ts';
import { createKeyring, idsOf, type Keyring } from '../lib/keyring.ts';
import { rejectUnknownKey } from '../storage/known-keys.ts';
import type { Database } from '../storage/storage.ts';
import { resend, sendTest } from '../webhooks/deliveries.ts';
import { type LoggedDelivery, listDeliveries } from '../webhooks/delivery-log.ts';
import {
  addEndpoint,
  changeEndpoint,
  disableEndpoint,
  enableEndpoint,
  removeEndpoint,
  replaceSecret,
} from '../webhooks/endpoint-changes.ts';
import {
  type Endpoint,
  findEndpoint,
  listEndpoints,
  rejectLoopback,
  subscribableEvents,
} from '../webhooks/endpoints.ts';
import { type Command, type Option, type Options, required, somethingToChange, withStorage } from './command.ts';
import { formatResult } from './output.ts';

const APP = { value: 'ID', help: 'The app’s client_id', required: true };
const ENDPOINT = { value: 'ID', help: 'The endpoint’s id, from endpoint list', required: true };
const HOOK = 'https://app.example.com/webhooks';
const URL_HELP = 'Where events are sent: https, or with WEBHOOKS_TO_LOOPBACK=yes also http on localhost';
const LOG_SIZE = 25;

export const endpointCommands: Command[] = [
  {
    name: 'endpoint add',
    summary: 'Add a webhook endpoint to an app; its signing secret is printed only once',
    options: {
      app: APP,
      url: { value: 'URL', help: URL_HELP, required: true, example: HOOK },
      event: { value: 'TYPE', help: 'An event type to receive (default: all)', multiple: true },
    },
    examples: ['--event grant.created --event grant.revoked'],
    run: (options, env) => {
      checkUrl(options, env);
      return withStorage(env, async ({ durable: db }) => {
        const app = await requireApp(db, options);
        const keys = await readKeyring(env, db);
        const newEndpoint = { app, url: options.text('url'), eventTypes: readEvents(options, env) };
        const added = await addEndpoint(OPERATOR, { db, keys }, newEndpoint, systemClock());
        const { endpoint, secret } = required(added, 'url', 'endpoint');
        return { ...endpoint, secret };
      });
    },
  },
  {
    name: 'endpoint list',
    summary: 'List an app’s endpoints',
    options: { app: APP },
    examples: ['--json'],
    run: (options, env) =>
      withStorage(env, async ({ durable }) => ({
        endpoints: await listEndpoints(durable, (await requireApp(durable, options)).id),
      })),
    format(result, { env }) {
      const all = subscribableEvents(readServesResources(env));
      const endpoints = (result as { endpoints: Endpoint[] }).endpoints.map(({ eventTypes, ...endpoint }) => ({
        ...endpoint,
        eventTypes: all.every((type) => eventTypes.includes(type)) ? 'all' : eventTypes,
      }));
      return formatResult({ endpoints }, ['id', 'url', 'eventTypes', 'failingSince', 'disabledAt']);
    },
  },
  onEndpoint({
    name: 'endpoint change',
    summary: 'Change an endpoint; omitted settings stay unchanged',
    extraOptions: {
      url: { value: 'URL', help: URL_HELP },
      event: { value: 'TYPE', help: 'An event type to receive; replaces all', multiple: true },
    },
    needsOneOf: somethingToChange('url', 'event'),
    examples: [`--url ${HOOK}`],
    run: async (db, { app, endpoint }, { options, env }) => {
      if (options.text('url')) checkUrl(options, env);
      const { url, eventTypes } = endpoint;
      const settings = { url: options.text('url') || url, eventTypes: readEvents(options, env, eventTypes) };
      return changeEndpoint(OPERATOR, db, { app, endpoint, settings }, systemClock());
    },
  }),
  onEndpoint({
    name: 'endpoint disable',
    summary: 'Disable an endpoint; events are kept until it is enabled again',
    run: (db, target) => disableEndpoint(OPERATOR, db, target, systemClock()),
  }),
  onEndpoint({
    name: 'endpoint enable',
    summary: 'Enable an endpoint and send the events that were kept',
    run: (db, target) => enableEndpoint(OPERATOR, db, target, systemClock()),
  }),
  onEndpoint({
    name: 'endpoint remove',
    summary: 'Remove an endpoint permanently',
    run: async (db, target) => {
      await removeEndpoint(OPERATOR, db, target, systemClock());
      return { removed: true };
    },
  }),
  onEndpoint({
    name: 'endpoint replace-secret',
    summary: 'Create a new signing secret, which is printed only once; the old one also signs for a day',
    run: async (db, target, { env }) => {
      const keys = await readKeyring(env, db);
      const replaced = await replaceSecret(OPERATOR, { db, keys }, target, systemClock());
      return { secret: replaced?.secret };
    },
  }),
  onEndpoint({
    name: 'endpoint test',
    summary: 'Send a test event; endpoint log shows the result',
    run: async (db, { endpoint }) => ({ eventId: await sendTest(db, endpoint, systemClock()) }),
  }),
  onEndpoint({
    name: 'endpoint log',
    summary: `List the newest ${LOG_SIZE} deliveries with their attempts`,
    run: async (db, { endpoint }) => ({
      deliveries: (await listDeliveries(db, { endpointId: endpoint.id, limit: LOG_SIZE })).map(describe),
    }),
  }),
  onEndpoint({
    name: 'endpoint resend',
    summary: 'Send a delivery again',
    extraOptions: { delivery: { value: 'ID', help: 'The delivery’s id, from endpoint log', required: true } },
    run: async (db, { endpoint }, { options }) => {
      const delivery = options.text('delivery');
      const found = isId(delivery) && (await resend(db, endpoint.id, delivery, systemClock()));
      return required(found || undefined, 'delivery', 'delivery to this endpoint');
    },
  }),
];

interface EndpointCommand {
  name: string;
  summary: string;
  examples?: string[];
  needsOneOf?: Command['needsOneOf'];
  extraOptions?: Record<string, Option>;
  run(
    db: Database,
    target: AppEndpoint,
    context: { options: Options; env: NodeJS.ProcessEnv },
  ): Promise<object | boolean | undefined>;
}

interface AppEndpoint {
  app: App;
  endpoint: Endpoint;
}

/** A command that runs one operation on one endpoint, and prints the endpoint afterwards. */
function onEndpoint({ extraOptions = {}, run, ...described }: EndpointCommand): Command {
  return {
    ...described,
    options: { app: APP, endpoint: ENDPOINT, ...extraOptions },
    columns: ['id', 'type', 'attempts', 'createdAt', 'dueAt', 'deliveredAt', 'givenUpAt'],
    run: (options, env) =>
      withStorage(env, async ({ durable: db }) => {
        const app = await requireApp(db, options);
        const id = options.text('endpoint');
        const find = async () => (isId(id) ? findEndpoint(db, app.id, id) : undefined);
        const endpoint = required(await find(), 'endpoint', 'endpoint of this app');
        const result = await run(db, { app, endpoint }, { options, env });
        return { ...((await find()) ?? endpoint), ...(typeof result === 'object' && result) };
      }),
  };
}

async function requireApp(db: Database, options: Options): Promise<App> {
  return required(await findApp(db, options.text('app')), 'app', 'app');
}

function readEvents(options: Options, env: NodeJS.ProcessEnv, fallback?: readonly string[]): string[] {
  const offered = subscribableEvents(readServesResources(env));
  const named = options.list('event').flatMap((text) => text.split(/[\s,]+/).filter(Boolean));
  const unknown = named.filter((type) => !offered.some((known) => known === type));
  if (unknown.length > 0) {
    throw new FormError('event', `Unknown event: ${unknown.join(' ')}. Use one of: ${offered.join(', ')}.`);
  }
  return options.list('event').length > 0 ? named : [...(fallback ?? offered)];
}

function checkUrl(options: Options, env: NodeJS.ProcessEnv): void {
  rejectLoopback(options.text('url'), { allowsLoopback: readWebhooksToLoopback(env) });
}

/** The keys must be those of the servers, which decrypt the secrets. */
async function readKeyring(env: NodeJS.ProcessEnv, db: Database): Promise<Keyring> {
  const keys = createKeyring(readSettings(env).secretKeys);
  await rejectUnknownKey(db, idsOf(keys));
  return keys;
}

function describe({ attemptsMade, endpointId: _, event, ...delivery }: LoggedDelivery) {
  const attempts = attemptsMade.map(({ signed: _, ...attempt }) => attempt);
  return { ...delivery, type: event?.type ?? '', attempts };
}
