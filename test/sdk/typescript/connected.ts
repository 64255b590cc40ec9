import assert from 'node:assert/strict';
import { type App, type AppOptions, createApp, type Tokens } from '../../../sdk/typescript/src/index.ts';
import type { Browser } from '../../support/browser.ts';
import { REDIRECT_URI } from '../../support/fixtures.ts';
import type { TestServer } from '../../support/test-server.ts';

/** The SDK app for the test server's own app. */
export function createSdkApp(server: TestServer, changes: Partial<AppOptions> = {}): App {
  const { id: clientId, secret: clientSecret } = server.ledger;
  return createApp({ baseUrl: server.api, clientId, clientSecret, redirectUri: REDIRECT_URI, ...changes });
}

/** Opens an authorize URL as the user, and returns the callback URL. */
export async function openAuthorizeUrl(
  server: TestServer,
  url: string,
  decision: 'allow' | 'deny' = 'allow',
  browser?: Browser,
) {
  const used = browser ?? (await server.signedIn());
  const page = await used.open(url);
  const { leftTo } = page.status === 200 ? await used.submit(page, '/consent', { decision }) : page;
  assert.ok(leftTo, `the visitor comes back to the app, not ${page.status} ${page.text}`);
  return leftTo;
}

export async function connect(server: TestServer, app: App = createSdkApp(server)): Promise<Tokens> {
  const { url, ...pending } = await app.beginAuthorization({ scopes: ['read:invoices'] });
  return app.finishAuthorization(await openAuthorizeUrl(server, url), pending);
}

/** The time so many seconds from now, as tokens have it. */
export const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

/** Copies the tokens as expired. */
export function expired(tokens: Tokens): Tokens {
  return { ...tokens, expiresAt: inSeconds(-1) };
}

/** Records requests in order, those to the token endpoint with their grant type. */
export function recordFetch(meanwhile: (request: string, send: () => Promise<Response>) => Promise<Response>) {
  const requests: string[] = [];
  const watched: typeof fetch = (url, init) => {
    const { grant_type = '' } = typeof init?.body === 'string' ? JSON.parse(init.body) : {};
    const name = `${new URL(String(url)).pathname.split('/').at(-1)} ${grant_type}`.trim();
    requests.push(name);
    return meanwhile(name, () => fetch(url, init));
  };
  return { requests, fetch: watched };
}

export const passThrough = (_: string, send: () => Promise<Response>) => send();
