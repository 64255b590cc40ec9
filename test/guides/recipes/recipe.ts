import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { decide } from '../../sdk/clients/visitor.ts';
import { createWorkspace, openGuide, type Program } from '../../support/guides.ts';
import { freePort } from '../../support/ports.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

const GUIDE = 'connect-with-your-framework';

interface Recipe {
  /** Its heading in the guide. */
  section: string;
  /** The path of the redirect URI in the guide. */
  callback: string;
}

/** A server with invoices and a registered app, the blocks of one section of the guide, and a reader's folder. */
export async function openRecipe({ section, callback }: Recipe) {
  const guide = openGuide(GUIDE, [section]);
  const server = await startTestServer();
  for (const number of ['INV-1', 'INV-2']) await server.addInvoice(server.acme, { number });
  // The port of a loopback redirect URI may differ from the registered one.
  const redirectUris = [`http://127.0.0.1:3000${callback}`];
  const app = await server.addApp({ name: section, ownerBusinessId: server.acme.id, redirectUris });
  const PORT = String(await freePort());
  return {
    server,
    take: (language: string) => guide.take(section, language),
    workspace: createWorkspace(),
    home: `http://127.0.0.1:${PORT}`,
    env: {
      BASE_URL: server.api,
      CLIENT_ID: app.id,
      CLIENT_SECRET: app.secret,
      PORT,
      // `npm test` runs offline. The packages of a recipe have to be installed before.
      PIP_NO_INDEX: '0',
    },
  };
}

export const EXPECTED = 'Ada of Acme\nINV-2 SENT 1234.50 GBP\nINV-1 SENT 1234.50 GBP\n';

/** A browser with the cookies of one app. */
export function newVisitor() {
  const cookies = new Map<string, string>();
  async function open(address: string | URL, init: RequestInit = {}): Promise<Response> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(address, { redirect: 'manual', ...init, headers: { ...init.headers, cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    return response;
  }
  return {
    open,
    /** Follows redirects for as long as they stay within the app. */
    async follow(address: string | URL): Promise<{ text: string; leftTo: string | undefined }> {
      const response = await open(address);
      const location = response.headers.get('location');
      if (!location) return { text: await response.text(), leftTo: undefined };
      const next = new URL(location, address);
      return next.origin === new URL(address).origin ? this.follow(next) : { text: '', leftTo: next.href };
    },
  };
}

/** Opens the app, signs in at Gatehouse, allows, and reads what the app shows. */
export async function assertShowsInvoices(server: TestServer, home: string): Promise<void> {
  const visitor = newVisitor();
  const { leftTo = '', text } = await visitor.follow(`${home}/`);
  assert.ok(leftTo.startsWith(`${server.api}/api/v1/oauth/authorize?`), `${leftTo} ${text}`);
  const shown = await visitor.follow(await decide(server, leftTo));

  assert.equal(shown.text, EXPECTED);
}

/** Resolves when the program accepts connections. */
export async function untilListening(program: Program, home: string): Promise<void> {
  let hasEnded = false;
  const ended = program.waitForExit().finally(() => {
    hasEnded = true;
  });
  ended.catch(() => {});
  while (!(await isListening(home))) {
    if (hasEnded) await ended;
    await setTimeout(100);
  }
}

async function isListening(home: string): Promise<boolean> {
  const socket = connect(Number(new URL(home).port), '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
