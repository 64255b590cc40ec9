import { join } from 'node:path';
import { keepCookies, nextState, visit } from '../browse.ts';
import { type Contender, type Running, readJson, type Visitor } from '../contender.ts';
import { SCOPE } from '../seed.ts';
import { headerOf, type Lane, postJson } from '../wire.ts';
import { startPeer } from './peer.ts';
import { authorizeUrl, speakToPeer } from './peer-speech.ts';

/** `offline_access` is what brings a refresh token there. */
const PLAIN = `offline_access ${SCOPE}`;
/** Its userinfo needs this scope; with it comes a signed ID token. */
const OPENID = `openid ${PLAIN}`;

const PATHS = {
  authorize: '/api/auth/oauth2/authorize',
  token: '/api/auth/oauth2/token',
  call: '/api/auth/oauth2/userinfo',
  introspect: '/api/auth/oauth2/introspect',
  revoke: '/api/auth/oauth2/revoke',
};

export const betterAuth: Contender = {
  name: 'better-auth',
  title: 'better-auth, SQLite',
  needsBothCores: false,
  isPeer: true,
  async start({ folder }) {
    const { pid, stop, origin } = await startPeer('better-auth', { DATABASE_FILE: join(folder, 'better-auth.db') });
    const { clientId } = (await (await fetch(`${origin}/readyz`)).json()) as { clientId: string };
    const server: Server = { origin, clientId, people: new Map(), userIds: new Map() };
    const plain: Running = { pid, stop, ...speak(server, PLAIN) };
    const withUserinfo: Running = { pid, stop, ...speak(server, OPENID) };
    // Where no userinfo is asked for it is spared the ID token, which ours does not make either.
    return { ...plain, speakFor: (scenario) => (['call', 'flow'].includes(scenario) ? withUserinfo : plain) };
  },
};

interface Server {
  origin: string;
  clientId: string;
  /** Signing up hashes a password, slowly and on purpose: so each does it once. */
  people: Map<number, Promise<Visitor>>;
  userIds: Map<number, string>;
}

function speak(server: Server, scope: string) {
  const { origin, clientId, people, userIds } = server;
  return speakToPeer({
    origin,
    clientId,
    scope,
    paths: PATHS,
    subjectAt: (place) => userIds.get(place),
    welcome(lane, place) {
      const known = people.get(place) ?? signUp(server, lane, place);
      people.set(place, known);
      return known;
    },
  });
}

/** A new user, who allows the app all that will be asked for. */
async function signUp({ origin, clientId, userIds }: Server, lane: Lane, place: number): Promise<Visitor> {
  const visitor: Visitor = { place, cookie: '' };
  const fields = { email: `person-${place}@example.com`, password: 'correct horse battery', name: `Person ${place}` };
  const request = postJson(origin, '/api/auth/sign-up/email', fields, { origin });
  const signedUp = await lane.ask(request);
  keepCookies(visitor, signedUp);
  userIds.set(place, readJson(request, signedUp).user.id);

  const url = authorizeUrl({ origin, clientId, scope: OPENID, paths: PATHS }, nextState());
  const asked = await lane.ask(visit(visitor, url));
  const page = new URL(headerOf(asked, 'location') ?? '', origin);
  const consent = { accept: true, oauth_query: page.search.slice(1) };
  const headers = { origin, cookie: visitor.cookie };
  const allowing = postJson(origin, '/api/auth/oauth2/consent', consent, headers);
  readJson(allowing, await lane.ask(allowing));
  return visitor;
}
