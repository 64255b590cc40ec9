import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { after } from 'node:test';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { EVENT_TYPES } from '../../../src/events/event-types.ts';
import { disableApp, enableApp } from '../../../src/grants/suspension.ts';
import type { Browser } from '../../support/browser.ts';
import { PASSWORD, type RegisteredApp } from '../../support/people.ts';
import type { World } from '../../support/world.ts';

const CONNECTED_APPS = '/settings/connected-apps';

/** What the Python tests are told of a world, as JSON. */
export interface Facts {
  control: string;
  base_url: string;
  client_id: string;
  client_secret: string;
  redirect_uri: string;
  business_id: string;
  /** A JSON list. */
  event_types: string;
}

type Deeds = Record<string, (fields: Record<string, string>) => Promise<object>>;

/** Lets tests in another language have done what only a person, or time, can do. */
export async function newControl(world: World, app: RegisteredApp): Promise<Facts> {
  const ada = await world.signedIn();
  const control = await serve({
    allow: async ({ url = '' }) => ({ callback: await decide(world, ada, url, 'allow') }),
    deny: async ({ url = '' }) => ({ callback: await decide(world, ada, url, 'deny') }),
    'visit-signed-out': async ({ url = '' }) => ({ callback: (await world.browse().open(url)).leftTo?.href }),
    disconnect: async () => {
      await ada.submit(await ada.open(CONNECTED_APPS), `${CONNECTED_APPS}/disconnect`);
      return {};
    },
    'disable-app': async () => {
      await disableApp(OPERATOR, world.storage().durable, app, world.clock());
      return {};
    },
    'enable-app': async () => {
      await enableApp(OPERATOR, world.storage().durable, app, world.clock());
      return {};
    },
    wind: async ({ seconds }) => {
      world.wind(Number(seconds) * 1000);
      return {};
    },
  });
  return {
    control,
    base_url: world.api,
    client_id: app.id,
    client_secret: app.secret,
    redirect_uri: app.redirectUris[0] ?? '',
    business_id: world.acme.id,
    event_types: JSON.stringify(EVENT_TYPES),
  };
}

/** What Ada does where an app sends her: gives her password or her answer if she is asked for it. */
async function decide(world: World, ada: Browser, url: string, answer: string): Promise<string> {
  let page = await ada.open(url);
  if (page.text.includes('action="/sign-in"')) page = await ada.signIn(world.ada.email, PASSWORD, page);
  if (!page.leftTo) page = await ada.submit(page, '/consent', { answer });
  assert.ok(page.leftTo, `she is sent back to the app, not to ${page.status} ${page.url}`);
  return page.leftTo.href;
}

async function serve(deeds: Deeds): Promise<string> {
  const server = createServer(async (request, reply) => {
    try {
      const deed = deeds[request.url?.slice(1) ?? ''];
      assert.ok(deed, `there is nothing called ${request.url}`);
      reply.end(JSON.stringify(await deed((await json(request)) as Record<string, string>)));
    } catch (error) {
      reply.writeHead(500).end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}
