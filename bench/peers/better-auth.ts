import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { oauthProvider } from '@better-auth/oauth-provider';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import { jwt } from 'better-auth/plugins';
import pg from 'pg';

/**
 * Set up after https://better-auth.com/docs/plugins/oauth-provider and https://better-auth.com/docs/guides/optimizing-for-performance:
 * - With DATABASE_URL, PostgreSQL with a pool of `pg` (https://better-auth.com/docs/adapters/postgresql). Without it,
 *   SQLite with Node's driver (https://better-auth.com/docs/adapters/sqlite), in WAL mode and without waiting for the
 *   disk at each commit, which is faster than what its documentation suggests.
 * - The session is cached in its cookie, and the app in memory (`cachedTrustedClients`), both for speed.
 * - Access tokens are opaque, because no resource is requested; refresh tokens rotate.
 * - Its rate limit is off: the whole load comes from one address. Logging and telemetry are off.
 */
const { PORT: port = '', CLIENT_SECRET = '', REDIRECT_URI = '', SCOPE = '', DATABASE_FILE = '' } = process.env;

const { DATABASE_URL } = process.env;
const database = DATABASE_URL ? new pg.Pool({ connectionString: DATABASE_URL, max: 10 }) : openFile();

function openFile(): DatabaseSync {
  const file = new DatabaseSync(DATABASE_FILE);
  file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  return file;
}

const origin = `http://127.0.0.1:${port}`;
const cachedTrustedClients = new Set<string>();

const auth = betterAuth({
  baseURL: origin,
  secret: 'the-key-that-better-auth-signs-its-cookies-with',
  database,
  emailAndPassword: { enabled: true },
  session: { cookieCache: { enabled: true, maxAge: 300 } },
  disabledPaths: ['/token'],
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { disabled: true },
  plugins: [
    jwt(),
    oauthProvider({
      loginPage: '/sign-in',
      consentPage: '/consent',
      scopes: ['openid', 'offline_access', SCOPE],
      cachedTrustedClients,
      generateClientSecret: () => CLIENT_SECRET,
    }),
  ],
});

const { runMigrations } = await getMigrations(auth.options);
await runMigrations();

const developer = await auth.api.signUpEmail({
  body: { email: 'developer@example.com', password: 'correct horse battery', name: 'Developer' },
  returnHeaders: true,
});
const cookie = developer.headers
  .getSetCookie()
  .map((line) => line.split(';')[0])
  .join('; ');
const client = await auth.api.adminCreateOAuthClient({
  headers: new Headers({ cookie }),
  body: {
    client_name: 'Ledger',
    redirect_uris: [REDIRECT_URI],
    token_endpoint_auth_method: 'client_secret_post',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: `openid offline_access ${SCOPE}`,
  },
});
cachedTrustedClients.add(client.client_id);

const handle = toNodeHandler(auth);

// Longer than it takes to measure the other servers.
createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
  if (request.url === '/readyz') response.end(JSON.stringify({ clientId: client.client_id }));
  else handle(request, response);
}).listen(Number(port), '127.0.0.1');
