import { join } from 'node:path';
import { getPage, nextState, storeCookies } from '../browse.ts';
import { type Contender, type RunningServer, readJson, type Visitor } from '../contender.ts';
import { createDatabase, findPostmaster } from '../databases.ts';
import { type HttpClient, headerOf, postJson } from '../http-client.ts';
import { SCOPE } from '../seed.ts';
import { startPeer } from './peer.ts';
import { authorizeUrl, peerRequests } from './peer-requests.ts';

/** `offline_access` requests a refresh token. */
const PLAIN = `offline_access ${SCOPE}`;
/** Needed by the userinfo endpoint; adds a signed ID token. */
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
  start: ({ folder }) => startBetterAuth({ DATABASE_FILE: join(folder, 'better-auth.db') }),
};

export const betterAuthOnPostgres: Contender = {
  name: 'better-auth-postgres',
  title: 'better-auth, PostgreSQL',
  needsBothCores: true,
  isPeer: true,
  async start({ postgresUrl }) {
    const url = await createDatabase(await postgresUrl());
    return { ...(await startBetterAuth({ DATABASE_URL: url })), findPostmaster: () => findPostmaster(url) };
  },
};

async function startBetterAuth(settings: Record<string, string>): Promise<RunningServer> {
  const { pid, stop, origin } = await startPeer('better-auth', settings);
  const { clientId } = (await (await fetch(`${origin}/readyz`)).json()) as { clientId: string };
  const server: Server = { origin, clientId, users: new Map(), userIds: new Map() };
  const plain: RunningServer = { pid, stop, ...requestsFor(server, PLAIN) };
  const withUserinfo: RunningServer = { pid, stop, ...requestsFor(server, OPENID) };
  // Without userinfo there is no ID token: Gatehouse has none either.
  return { ...plain, forScenario: (scenario) => (['call', 'flow'].includes(scenario) ? withUserinfo : plain) };
}

interface Server {
  origin: string;
  clientId: string;
  /** Signing up hashes a password, which is slow, so each user does it once. */
  users: Map<number, Promise<Visitor>>;
  userIds: Map<number, string>;
}

function requestsFor(server: Server, scope: string) {
  const { origin, clientId, users, userIds } = server;
  return peerRequests({
    origin,
    clientId,
    scope,
    paths: PATHS,
    subjectAt: (index) => userIds.get(index),
    signIn(client, index) {
      const known = users.get(index) ?? signUp(server, client, index);
      users.set(index, known);
      return known;
    },
  });
}

/** A new user who allows all scopes of the app. */
async function signUp({ origin, clientId, userIds }: Server, client: HttpClient, index: number): Promise<Visitor> {
  const visitor: Visitor = { index, cookie: '' };
  const fields = { email: `person-${index}@example.com`, password: 'correct horse battery', name: `Person ${index}` };
  const request = postJson(origin, '/api/auth/sign-up/email', fields, { origin });
  const signedUp = await client.ask(request);
  storeCookies(visitor, signedUp);
  userIds.set(index, readJson(request, signedUp).user.id);

  const url = authorizeUrl({ origin, clientId, scope: OPENID, paths: PATHS }, nextState());
  const authorized = await client.ask(getPage(visitor, url));
  const page = new URL(headerOf(authorized, 'location') ?? '', origin);
  const consent = { accept: true, oauth_query: page.search.slice(1) };
  const headers = { origin, cookie: visitor.cookie };
  const allowing = postJson(origin, '/api/auth/oauth2/consent', consent, headers);
  readJson(allowing, await client.ask(allowing));
  return visitor;
}
