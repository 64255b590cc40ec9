import { getPage, nextState, storeCookies } from '../browse.ts';
import type { Contender, RunningServer, Visitor } from '../contender.ts';
import { createDatabase, findPostmaster } from '../databases.ts';
import { type HttpClient, type HttpResponse, headerOf } from '../http-client.ts';
import { REDIRECT_URI, SCOPE } from '../seed.ts';
import { CLIENT, startPeer } from './peer.ts';
import { authorizeUrl, peerRequests } from './peer-requests.ts';

/** Needed by the userinfo endpoint, its bearer-protected call; adds a signed ID token. */
const OPENID = `openid ${SCOPE}`;

const PATHS = {
  authorize: '/auth',
  token: '/token',
  call: '/me',
  introspect: '/token/introspection',
  revoke: '/token/revocation',
};

export const oidcProvider: Contender = {
  name: 'oidc-provider',
  title: 'oidc-provider, memory',
  needsBothCores: false,
  isPeer: true,
  start: () => startProvider({}),
};

export const oidcProviderOnPostgres: Contender = {
  name: 'oidc-provider-postgres',
  title: 'oidc-provider, PostgreSQL',
  needsBothCores: true,
  isPeer: true,
  async start({ postgresUrl }) {
    const url = await createDatabase(await postgresUrl());
    return { ...(await startProvider({ DATABASE_URL: url })), findPostmaster: () => findPostmaster(url) };
  },
};

async function startProvider(settings: Record<string, string>): Promise<RunningServer> {
  const { pid, stop, origin } = await startPeer('oidc-provider', settings);
  const plain: RunningServer = { pid, stop, ...requestsFor(origin, SCOPE) };
  const withUserinfo: RunningServer = { pid, stop, ...requestsFor(origin, OPENID) };
  // Without userinfo there is no ID token: Gatehouse has none either.
  return { ...plain, forScenario: (scenario) => (['call', 'flow'].includes(scenario) ? withUserinfo : plain) };
}

function requestsFor(origin: string, scope: string) {
  const peer = { origin, clientId: CLIENT.id, scope, paths: PATHS };
  return peerRequests({
    ...peer,
    subjectAt: accountAt,
    async signIn(client, index) {
      const visitor: Visitor = { index, cookie: '' };
      const first = await submitSignIn(client, visitor, authorizeUrl(peer, nextState()));
      await followToApp(client, visitor, first, origin);
      return visitor;
    },
  });
}

function accountAt(index: number): string {
  return `person-${index}`;
}

/** Submits the sign-in page. */
async function submitSignIn(client: HttpClient, visitor: Visitor, url: URL): Promise<HttpResponse> {
  const response = await client.ask(getPage(visitor, url));
  storeCookies(visitor, response);
  const page = new URL(headerOf(response, 'location') ?? '', url);
  page.search = `as=${accountAt(visitor.index)}`;
  const next = await client.ask(getPage(visitor, page));
  storeCookies(visitor, next);
  return next;
}

/** Follows the redirects back to the app. */
async function followToApp(client: HttpClient, visitor: Visitor, first: HttpResponse, origin: string): Promise<void> {
  let response = first;
  for (let location = headerOf(response, 'location'); location; location = headerOf(response, 'location')) {
    if (location.startsWith(REDIRECT_URI)) return;
    response = await client.ask(getPage(visitor, new URL(location, origin)));
    storeCookies(visitor, response);
  }
  throw new Error(`The sign-in failed: ${response.head}`);
}
