import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/ports.ts';
import type { BenchEnvironment, Contender, RunningServer, Visitor } from '../contender.ts';
import { createDatabase, findPostmaster } from '../databases.ts';
import { startProgram } from '../process.ts';
import { BATCH_PER_CLIENT } from '../scenarios/scenario.ts';
import { SCOPE } from '../seed.ts';
import { REALM, realm, userAt } from './keycloak-realm.ts';
import { signInByForms } from './keycloak-sign-in.ts';
import { CLIENT } from './peer.ts';
import { peerRequests } from './peer-requests.ts';

/** Needed by the userinfo endpoint; adds a signed ID token. */
const OPENID = `openid ${SCOPE}`;

const ENDPOINTS = `/realms/${REALM}/protocol/openid-connect`;
const PATHS = {
  authorize: `${ENDPOINTS}/auth`,
  token: `${ENDPOINTS}/token`,
  call: `${ENDPOINTS}/userinfo`,
  introspect: `${ENDPOINTS}/token/introspect`,
  revoke: `${ENDPOINTS}/revoke`,
};

/** Keycloak as it is unpacked in a folder; undefined if it is not there. */
export function keycloakIn(folder: string): Contender | undefined {
  const versionFile = join(folder, 'version.txt');
  if (!existsSync(join(folder, 'bin/kc.sh')) || !existsSync(versionFile)) return undefined;
  const [version = 'unknown'] = /\d[\w.]+/.exec(readFileSync(versionFile, 'utf8')) ?? [];
  return {
    name: 'keycloak',
    title: 'Keycloak, PostgreSQL',
    needsBothCores: true,
    isPeer: false,
    program: { name: 'Keycloak', version },
    start: (environment) => startKeycloak(folder, environment),
  };
}

/**
 * Set up after https://www.keycloak.org/server/configuration-production and https://www.keycloak.org/server/configuration:
 * - `start`, not `start-dev`: it first builds a server for these options, and it caches themes.
 * - One node, so its caches are local and nothing is sent to other nodes. Its sessions are in PostgreSQL, as by default.
 * - HTTP, as behind a proxy that ends TLS.
 */
async function startKeycloak(
  installed: string,
  { folder, users, postgresUrl }: BenchEnvironment,
): Promise<RunningServer> {
  const home = join(folder, 'keycloak');
  // The build changes the folder.
  cpSync(installed, home, { recursive: true });
  mkdirSync(join(home, 'data/import'), { recursive: true });
  writeFileSync(join(home, `data/import/${REALM}-realm.json`), JSON.stringify(realm(users * (1 + BATCH_PER_CLIENT))));
  const program = join(home, 'bin/kc.sh');
  const { JAVA_HOME } = process.env;
  const env: Record<string, string> = JAVA_HOME === undefined ? {} : { JAVA_HOME };
  const url = await createDatabase(await postgresUrl());
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const options = [
    '--db=postgres',
    '--cache=local',
    '--import-realm',
    '--log-level=warn',
    ...addressOptions(origin),
    ...databaseOptions(url),
  ];
  const ready = `${origin}/realms/${REALM}/.well-known/openid-configuration`;
  const { pid, stop } = await startProgram([program, 'start', ...options], env, ready);
  return { ...requestsOf(origin, users, { pid, stop }), findPostmaster: () => findPostmaster(url) };
}

function addressOptions(origin: string): string[] {
  const { hostname, port } = new URL(origin);
  return ['--http-enabled=true', `--http-host=${hostname}`, `--http-port=${port}`, `--hostname=${origin}`];
}

function databaseOptions(url: string): string[] {
  const { host, pathname, username, password } = new URL(url);
  return [`--db-url=jdbc:postgresql://${host}${pathname}`, `--db-username=${username}`, `--db-password=${password}`];
}

function requestsOf(origin: string, users: number, child: Pick<RunningServer, 'pid' | 'stop'>): RunningServer {
  const visitors = new Map<number, Promise<Visitor>>();
  const plain: RunningServer = { ...child, ...requestsFor(origin, SCOPE, visitors) };
  const withUserinfo: RunningServer = { ...child, ...requestsFor(origin, OPENID, visitors) };
  const byScenario: Record<string, RunningServer> = {
    call: withUserinfo,
    flow: withUserinfo,
    revoke: withOwnUsers(plain, origin, users),
  };
  return { ...plain, forScenario: (scenario) => byScenario[scenario] ?? plain };
}

/**
 * Revoking a token ends every session of its user with the app, and the consent. So each token of a batch has its own user, none
 * of whom is in another scenario; otherwise most revocations would find nothing to revoke.
 */
function withOwnUsers(server: RunningServer, origin: string, users: number): RunningServer {
  let signedIn = 0;
  return {
    ...server,
    signIn: async (_, index) => ({ index, cookie: '' }),
    authorize(client) {
      const index = users + (signedIn % (users * BATCH_PER_CLIENT));
      signedIn += 1;
      return signInByForms(client, { index, cookie: '' }, peerAt(origin, SCOPE));
    },
  };
}

function requestsFor(origin: string, scope: string, visitors: Map<number, Promise<Visitor>>) {
  const peer = peerAt(origin, scope);
  return peerRequests({
    ...peer,
    subjectAt: userAt,
    signIn(client, index) {
      const visitor = { index, cookie: '' };
      const known = visitors.get(index) ?? signInByForms(client, visitor, peer).then(() => visitor);
      visitors.set(index, known);
      return known;
    },
  });
}

function peerAt(origin: string, scope: string) {
  return { origin, clientId: CLIENT.id, scope, paths: PATHS };
}
