import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import Provider, { type ClientMetadata, type Configuration } from 'oidc-provider';
import { openDatabase } from './oidc-adapter.ts';

/**
 * Set up after https://github.com/panva/node-oidc-provider/blob/main/docs/README.md:
 * - With DATABASE_URL, an adapter for PostgreSQL, which stores the app, too, and accounts from a table of users: on a platform,
 *   developers register apps and users join at any time. Without it, the built-in adapter, which the documentation
 *   recommends only for development: it is in memory and therefore the fastest.
 * - `devInteractions` off, own signing keys, signed cookies: as the documentation says for production.
 * - Access tokens are opaque (its default), and `rotateRefreshToken` is on, as in Gatehouse.
 * - Refresh tokens without `offline_access` (which would ask for consent each time), and not bound to the session, so that
 *   tokens need no session lookup.
 * - ES256 for signatures: much cheaper than its default, RS256.
 */
const {
  PORT: port = '',
  CLIENT_ID = '',
  CLIENT_SECRET = '',
  REDIRECT_URI = '',
  SCOPE = '',
  DATABASE_URL,
} = process.env;

const signingKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });

const client: ClientMetadata = {
  client_id: CLIENT_ID,
  client_secret: CLIENT_SECRET,
  redirect_uris: [REDIRECT_URI],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'client_secret_post',
  id_token_signed_response_alg: 'ES256',
};

const database = DATABASE_URL ? await openDatabase(DATABASE_URL) : undefined;
await database?.addClient(client);

const configuration: Configuration = {
  ...(database ? { adapter: database.adapter } : { clients: [client] }),
  scopes: ['openid', SCOPE],
  claims: { openid: ['sub', 'name', 'email'] },
  features: {
    devInteractions: { enabled: false },
    introspection: { enabled: true },
    revocation: { enabled: true },
  },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  cookies: { keys: ['the-key-that-the-cookies-are-signed-with'] },
  jwks: { keys: [{ ...signingKey, use: 'sig', alg: 'ES256' }] },
  rotateRefreshToken: true,
  issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
  expiresWithSession: async () => false,
  ttl: {
    AuthorizationCode: 600,
    AccessToken: 3600,
    RefreshToken: 30 * 86400,
    IdToken: 3600,
    Interaction: 3600,
    Session: 14 * 86400,
    Grant: 30 * 86400,
  },
  findAccount: database?.findAccount ?? inventAccount,
};

const provider = new Provider(`http://127.0.0.1:${port}`, configuration);
const handle = provider.callback();

// Longer than it takes to measure the other servers.
createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
  const { url = '' } = request;
  if (url === '/readyz') response.end('ok');
  else if (url.startsWith('/interaction/')) interact(request, response).catch((error) => response.destroy(error));
  else handle(request, response);
}).listen(Number(port), '127.0.0.1');

function inventAccount(_: unknown, accountId: string) {
  return {
    accountId,
    claims: async () => ({ sub: accountId, name: accountId, email: `${accountId}@example.com` }),
  };
}

/** For the preparation: signs in a user named in the URL, who allows everything. */
async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    const accountId = new URLSearchParams(request.url?.split('?')[1]).get('as') ?? 'nobody';
    await database?.addUser(accountId);
    await provider.interactionFinished(request, response, { login: { accountId } });
    return;
  }
  const grant = new provider.Grant({ accountId: session?.accountId, clientId: String(params.client_id) });
  grant.addOIDCScope(String(params.scope));
  const consent = { grantId: await grant.save() };
  await provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}
