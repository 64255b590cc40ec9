import { keepCookies, nextState, visit } from '../browse.ts';
import type { Contender, Running, Visitor } from '../contender.ts';
import { REDIRECT_URI, SCOPE } from '../seed.ts';
import { type Answer, headerOf, type Lane } from '../wire.ts';
import { CLIENT, startPeer } from './peer.ts';
import { authorizeUrl, speakToPeer } from './peer-speech.ts';

/** Its userinfo, which is the bearer-protected call it has, needs this scope; with it comes a signed ID token. */
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
    const plain: Running = { pid, stop, ...speak(origin, SCOPE) };
    const withUserinfo: Running = { pid, stop, ...speak(origin, OPENID) };
    // Where no userinfo is asked for it is spared the ID token, which ours does not make either.
    return { ...plain, speakFor: (scenario) => (['call', 'flow'].includes(scenario) ? withUserinfo : plain) };
  },
};

function speak(origin: string, scope: string) {
  const place = { origin, clientId: CLIENT.id, scope, paths: PATHS };
  return speakToPeer({
    ...place,
    subjectAt: accountAt,
    async welcome(lane, number) {
      const visitor: Visitor = { place: number, cookie: '' };
      const first = await signIn(lane, visitor, authorizeUrl(place, nextState()));
      await passThrough(lane, visitor, first, origin);
      return visitor;
    },
  });
}

function accountAt(place: number): string {
  return `person-${place}`;
}

/** The first stop is the sign-in page: it is told who it is. */
async function signIn(lane: Lane, visitor: Visitor, url: URL): Promise<Answer> {
  const answer = await lane.ask(visit(visitor, url));
  keepCookies(visitor, answer);
  const page = new URL(headerOf(answer, 'location') ?? '', url);
  page.search = `as=${accountAt(visitor.place)}`;
  const next = await lane.ask(visit(visitor, page));
  keepCookies(visitor, next);
  return next;
}

/** From there on, wherever it leads, until it is back at the app. */
async function passThrough(lane: Lane, visitor: Visitor, first: Answer, origin: string): Promise<void> {
  let answer = first;
  for (let location = headerOf(answer, 'location'); location; location = headerOf(answer, 'location')) {
    if (location.startsWith(REDIRECT_URI)) return;
    answer = await lane.ask(visit(visitor, new URL(location, origin)));
    keepCookies(visitor, answer);
  }
  throw new Error(`Nobody could be signed in: ${answer.head}`);
}
