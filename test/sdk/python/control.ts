import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { after } from 'node:test';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { EVENT_TYPES } from '../../../src/events/event-types.ts';
import { disableApp, enableApp } from '../../../src/grants/suspension.ts';
import type { Browser } from '../../support/browser.ts';
import { PASSWORD, type RegisteredApp } from '../../support/fixtures.ts';
import type { TestServer } from '../../support/test-server.ts';

const CONNECTED_APPS = '/settings/connected-apps';

/** What the Python tests know about a server, as JSON. */
export interface ServerInfo {
  control: string;
  base_url: string;
  client_id: string;
  client_secret: string;
  redirect_uri: string;
  business_id: string;
  /** A JSON list. */
  event_types: string;
  pages_url: string;
}

type Actions = Record<string, (fields: Record<string, string>) => Promise<object>>;

/** Lets tests in another language trigger user actions and advance the clock. */
export async function startControlServer(server: TestServer, app: RegisteredApp): Promise<ServerInfo> {
  const ada = await server.signedIn();
  const control = await serve({
    allow: async ({ url = '' }) => ({ callback: await decide(server, ada, url, 'allow') }),
    deny: async ({ url = '' }) => ({ callback: await decide(server, ada, url, 'deny') }),
    'visit-signed-out': async ({ url = '' }) => ({ callback: (await server.browse().open(url)).leftTo?.href }),
    disconnect: async () => {
      await ada.submit(await ada.open(CONNECTED_APPS), `${CONNECTED_APPS}/disconnect`);
      return {};
    },
    'disable-app': async () => {
      await disableApp(OPERATOR, server.storage().durable, app, server.clock());
      return {};
    },
    'enable-app': async () => {
      await enableApp(OPERATOR, server.storage().durable, app, server.clock());
      return {};
    },
    'spread-happenings': async () => {
      await server.spreadHappenings();
      return {};
    },
    'advance-clock': async ({ seconds }) => {
      server.advanceClock(Number(seconds) * 1000);
      return {};
    },
  });
  return {
    control,
    base_url: server.api,
    client_id: app.id,
    client_secret: app.secret,
    redirect_uri: app.redirectUris[0] ?? '',
    business_id: server.acme.id,
    event_types: JSON.stringify(EVENT_TYPES),
    pages_url: server.web,
  };
}

/** Opens the authorize URL as Ada, signs in, and submits the consent form if it is shown. */
async function decide(server: TestServer, ada: Browser, url: string, decision: string): Promise<string> {
  let page = await ada.open(url);
  if (page.text.includes('action="/sign-in"')) page = await ada.signIn(server.ada.email, PASSWORD, page);
  if (!page.leftTo) page = await ada.submit(page, '/consent', { decision });
  assert.ok(page.leftTo, `she is sent back to the app, not to ${page.status} ${page.url}`);
  return page.leftTo.href;
}

async function serve(actions: Actions): Promise<string> {
  const server = createServer(async (request, reply) => {
    try {
      const action = actions[request.url?.slice(1) ?? ''];
      assert.ok(action, `no action called ${request.url}`);
      reply.end(JSON.stringify(await action((await json(request)) as Record<string, string>)));
    } catch (error) {
      reply.writeHead(500).end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}
