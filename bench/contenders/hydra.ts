import { spawnSync } from 'node:child_process';
import { freePort } from '../../test/support/ports.ts';
import { followToCode, getPage, nextState, storeCookies } from '../browse.ts';
import { type BenchEnvironment, type Contender, type RunningServer, readJson, type Visitor } from '../contender.ts';
import { createDatabase, findPostmaster } from '../databases.ts';
import { createHttpClient, type HttpClient, headerOf, postForm, postJson } from '../http-client.ts';
import { runProgram, startProgram } from '../process.ts';
import { REDIRECT_URI, SCOPE } from '../seed.ts';
import { CLIENT, startPeer } from './peer.ts';
import { authorizeUrl, peerRequests } from './peer-requests.ts';

/** `offline_access` requests a refresh token. */
const PLAIN = `offline_access ${SCOPE}`;
/** For the userinfo endpoint; adds a signed ID token. */
const OPENID = `openid ${PLAIN}`;

const PATHS = {
  authorize: '/oauth2/auth',
  token: '/oauth2/token',
  call: '/userinfo',
  introspect: '/admin/oauth2/introspect',
  revoke: '/oauth2/revoke',
};

/** Ory Hydra, whose program is this file; undefined if it is not. */
export function hydraAt(program: string): Contender | undefined {
  const { stdout } = spawnSync(program, ['version'], { encoding: 'utf8', timeout: 10_000 });
  const [, version] = /^Version:\s+(\S+)/m.exec(stdout ?? '') ?? [];
  if (version === undefined) return undefined;
  return {
    name: 'hydra',
    title: 'Ory Hydra, PostgreSQL',
    needsBothCores: true,
    isPeer: false,
    program: { name: 'Ory Hydra', version },
    start: (environment) => startHydra(program, environment),
  };
}

/** The addresses of one running Hydra. */
interface Addresses {
  origin: string;
  /** Of the admin API, which also introspects. */
  admin: string;
  /** Of the app that signs users in and asks for consent: bench/peers/hydra-pages.ts. */
  pages: string;
}

async function startHydra(program: string, { postgresUrl }: BenchEnvironment): Promise<RunningServer> {
  const url = await createDatabase(await postgresUrl());
  const [origin, admin] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const pages = await startPeer('hydra-pages', { ADMIN: admin });
  const addresses = { origin, admin, pages: pages.origin };
  const settings = settingsFor(addresses, url);
  await runProgram([program, 'migrate', 'sql', '-e', '--yes'], settings);
  const hydra = await startProgram([program, 'serve', 'all', '--dev'], settings, `${origin}/health/ready`);
  const clientId = await registerApp(admin);
  const stop = async () => {
    await hydra.stop();
    await pages.stop();
  };
  const server = (scope: string): RunningServer => ({
    pid: hydra.pid,
    stop,
    findPostmaster: () => findPostmaster(url),
    ...requestsFor(addresses, clientId, scope),
  });
  const [plain, withUserinfo] = [server(PLAIN), server(OPENID)];
  // Without userinfo there is no ID token: Gatehouse has none either.
  return { ...plain, forScenario: (scenario) => (['call', 'flow'].includes(scenario) ? withUserinfo : plain) };
}

/**
 * Set up after https://www.ory.com/docs/hydra/self-hosted/quickstart and https://www.ory.com/docs/hydra/reference/configuration:
 * - Access tokens are opaque, and refresh tokens rotate without a grace period, both by default, as in Gatehouse.
 * - One round of PBKDF2 for the secret of the app, which is long and random: the default of 25,000 at each request to
 *   the token endpoint would take most of the time.
 * - `--dev` allows HTTP, as behind a proxy that ends TLS. Telemetry and the log of requests are off.
 */
export function settingsFor({ origin, admin, pages }: Addresses, databaseUrl: string): Record<string, string> {
  return {
    DSN: `${databaseUrl}?sslmode=disable&max_conns=20`,
    SERVE_PUBLIC_HOST: '127.0.0.1',
    SERVE_PUBLIC_PORT: new URL(origin).port,
    SERVE_ADMIN_HOST: '127.0.0.1',
    SERVE_ADMIN_PORT: new URL(admin).port,
    URLS_SELF_ISSUER: origin,
    URLS_LOGIN: `${pages}/login`,
    URLS_CONSENT: `${pages}/consent`,
    SECRETS_SYSTEM: 'the-key-that-hydra-signs-its-tokens-with',
    OAUTH2_HASHERS_PBKDF2_ITERATIONS: '1',
    TTL_ACCESS_TOKEN: '1h',
    TTL_REFRESH_TOKEN: '720h',
    TTL_AUTH_CODE: '10m',
    LOG_LEVEL: 'error',
    SQA_OPT_OUT: 'true',
  };
}

/** Returns the id that Hydra gives to the app. */
async function registerApp(admin: string): Promise<string> {
  const client = createHttpClient();
  const request = postJson(admin, '/admin/clients', {
    client_name: 'Ledger',
    client_secret: CLIENT.secret,
    redirect_uris: [REDIRECT_URI],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: OPENID,
    token_endpoint_auth_method: 'client_secret_post',
  });
  try {
    return readJson(request, await client.ask(request), 201).client_id;
  } finally {
    client.close();
  }
}

function requestsFor({ origin, admin, pages }: Addresses, clientId: string, scope: string) {
  const peer = { origin, clientId, scope, paths: PATHS };
  const target = { origins: [origin, pages], redirectUri: REDIRECT_URI };
  const requests = peerRequests({
    ...peer,
    subjectAt: userAt,
    async signIn(client, index) {
      const visitor: Visitor = { index, cookie: '' };
      const state = nextState();
      const page = await openSignIn(client, visitor, authorizeUrl(peer, state));
      page.searchParams.set('as', userAt(index));
      await followToCode(client, visitor, getPage(visitor, page), { ...target, state });
      return visitor;
    },
  });
  return {
    ...requests,
    async authorize(client: HttpClient, visitor: Visitor) {
      const state = nextState();
      return followToCode(client, visitor, getPage(visitor, authorizeUrl(peer, state)), { ...target, state });
    },
    introspect: (token: string) => postForm(admin, PATHS.introspect, { token }),
  };
}

function userAt(index: number): string {
  return `person-${index}`;
}

/** The address of the sign-in page that Hydra redirects to. */
async function openSignIn(client: HttpClient, visitor: Visitor, url: URL): Promise<URL> {
  const response = await client.ask(getPage(visitor, url));
  storeCookies(visitor, response);
  return new URL(headerOf(response, 'location') ?? '', url);
}
