import { getPage, nextState, storeCookies } from '../browse.ts';
import type { Contender, RunningServer, Visitor } from '../contender.ts';
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
  async start() {
    const { pid, stop, origin } = await startPeer('oidc-provider');
    const plain: RunningServer = { pid, stop, ...requestsFor(origin, SCOPE) };
    const withUserinfo: RunningServer = { pid, stop, ...requestsFor(origin, OPENID) };
    // Without userinfo there is no ID token: Gatehouse has none either.
    return { ...plain, speakFor: (scenario) => (['call', 'flow'].includes(scenario) ? withUserinfo : plain) };
  },
};

function requestsFor(origin: string, scope: string) {
  const place = { origin, clientId: CLIENT.id, scope, paths: PATHS };
  return peerRequests({
    ...place,
    subjectAt: accountAt,
    async welcome(client, number) {
      const visitor: Visitor = { place: number, cookie: '' };
      const first = await signIn(client, visitor, authorizeUrl(place, nextState()));
      await passThrough(client, visitor, first, origin);
      return visitor;
    },
  });
}

function accountAt(place: number): string {
  return `person-${place}`;
}

/** Submits the sign-in page. */
async function signIn(client: HttpClient, visitor: Visitor, url: URL): Promise<HttpResponse> {
  const response = await client.ask(getPage(visitor, url));
  storeCookies(visitor, response);
  const page = new URL(headerOf(response, 'location') ?? '', url);
  page.search = `as=${accountAt(visitor.place)}`;
  const next = await client.ask(getPage(visitor, page));
  storeCookies(visitor, next);
  return next;
}

/** Follows the redirects back to the app. */
async function passThrough(client: HttpClient, visitor: Visitor, first: HttpResponse, origin: string): Promise<void> {
  let response = first;
  for (let location = headerOf(response, 'location'); location; location = headerOf(response, 'location')) {
    if (location.startsWith(REDIRECT_URI)) return;
    response = await client.ask(getPage(visitor, new URL(location, origin)));
    storeCookies(visitor, response);
  }
  throw new Error(`Nobody could be signed in: ${response.head}`);
}
