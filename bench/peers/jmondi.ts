import { randomBytes, timingSafeEqual } from 'node:crypto';
import forms from '@fastify/formbody';
import {
  AuthorizationServer,
  DateInterval,
  generateRandomToken,
  JwtService,
  type OAuthAuthCode,
  type OAuthAuthCodeRepository,
  type OAuthClient,
  type OAuthClientRepository,
  type OAuthScopeRepository,
  type OAuthToken,
  type OAuthTokenRepository,
  type OAuthUser,
  type OAuthUserRepository,
} from '@jmondi/oauth2-server';
import { handleFastifyError, handleFastifyReply, requestFromFastify } from '@jmondi/oauth2-server/fastify';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';

/**
 * Set up after https://tsoauth2server.com/docs/authorization_server/configuration, whose defaults «are correct for most
 * projects»: PKCE with S256, codes and refresh tokens as signed JWTs, credentials at every endpoint. It has no storage
 * and no sign-in. Here the repositories are maps, used codes and tokens are removed from them, and a cookie identifies the user.
 */
const { PORT: port = '', CLIENT_ID = '', CLIENT_SECRET = '', REDIRECT_URI = '', SCOPE = '' } = process.env;

const scope = { name: SCOPE };
const client: OAuthClient = {
  id: CLIENT_ID,
  name: 'Ledger',
  secret: CLIENT_SECRET,
  redirectUris: [REDIRECT_URI],
  // This library implements introspection and revocation in its client credentials grant.
  allowedGrants: ['authorization_code', 'refresh_token', 'client_credentials'],
  scopes: [scope],
};
const users = new Map<string, OAuthUser>();
const codes = new Map<string, OAuthAuthCode>();
const byAccessToken = new Map<string, OAuthToken>();
const byRefreshToken = new Map<string, OAuthToken>();

const clientRepository: OAuthClientRepository = {
  async getByIdentifier(id) {
    if (id !== client.id) throw new Error('No such client');
    return client;
  },
  isClientValid: async (grantType, { allowedGrants }, secret = '') =>
    allowedGrants.includes(grantType) && sameText(secret, CLIENT_SECRET),
};

const scopeRepository: OAuthScopeRepository = {
  getAllByIdentifiers: async (names) => (names.includes(SCOPE) ? [scope] : []),
  finalize: async (scopes) => scopes,
};

const userRepository: OAuthUserRepository = { getUserByCredentials: async (id) => users.get(String(id)) };

const codeRepository: OAuthAuthCodeRepository = {
  async getByIdentifier(code) {
    const found = codes.get(code);
    if (!found) throw new Error('No such code');
    return found;
  },
  issueAuthCode: (issuedTo, user, scopes) => ({
    code: generateRandomToken(),
    redirectUri: null,
    codeChallenge: null,
    codeChallengeMethod: null,
    expiresAt: new DateInterval('10m').getEndDate(),
    client: issuedTo,
    user: user ?? null,
    scopes,
  }),
  async persist(code) {
    codes.set(code.code, code);
  },
  isRevoked: async (code) => !codes.has(code),
  async revoke(code) {
    codes.delete(code);
  },
};

const tokenRepository: OAuthTokenRepository = {
  issueToken: async (issuedTo, scopes, user) => ({
    accessToken: generateRandomToken(),
    accessTokenExpiresAt: new DateInterval('1h').getEndDate(),
    refreshToken: null,
    refreshTokenExpiresAt: null,
    client: issuedTo,
    user: user ?? null,
    scopes,
  }),
  async issueRefreshToken(token) {
    token.refreshToken = generateRandomToken();
    token.refreshTokenExpiresAt = new DateInterval('30d').getEndDate();
    byRefreshToken.set(token.refreshToken, token);
    return token;
  },
  async persist(token) {
    byAccessToken.set(token.accessToken, token);
  },
  async revoke(token) {
    byAccessToken.delete(token.accessToken);
    byRefreshToken.delete(token.refreshToken ?? '');
  },
  isRefreshTokenRevoked: async (token) => !byRefreshToken.has(token.refreshToken ?? ''),
  getByRefreshToken: async (id) => find(byRefreshToken, id),
  getByAccessToken: async (id) => find(byAccessToken, id),
};

function find(tokens: Map<string, OAuthToken>, id: string): OAuthToken {
  const token = tokens.get(id);
  if (!token) throw new Error('No such token');
  return token;
}

const issuer = `http://127.0.0.1:${port}`;
const jwt = new JwtService(randomBytes(32).toString('hex'));
const server = new AuthorizationServer(clientRepository, tokenRepository, scopeRepository, jwt, { issuer });
const hour = new DateInterval('1h');
server.enableGrantTypes(
  [{ grant: 'authorization_code', authCodeRepository: codeRepository, userRepository }, hour],
  ['refresh_token', hour],
  ['client_credentials', hour],
);

const app = fastify();
await app.register(forms);

type OAuthResponse = Awaited<ReturnType<typeof server.revoke>>;

/** See https://tsoauth2server.com/docs/adapters/fastify. */
function mount(path: string, respond: (request: FastifyRequest) => Promise<OAuthResponse>): void {
  app.post(path, async (request: FastifyRequest, reply: FastifyReply) => {
    try {
      handleFastifyReply(reply, await respond(request));
    } catch (error) {
      handleFastifyError(error, reply);
    }
    return reply;
  });
}

mount('/token', (request) => server.respondToAccessTokenRequest(requestFromFastify(request)));
mount('/token/introspect', (request) => server.introspect(requestFromFastify(request)));
mount('/token/revoke', (request) => server.revoke(requestFromFastify(request)));

/** https://tsoauth2server.com/docs/endpoints/authorize, for a signed-in user who has allowed the app before. */
app.get('/authorize', async (request, reply) => {
  try {
    const authorization = await server.validateAuthorizationRequest(requestFromFastify(request));
    authorization.user = users.get(/(?:^|; )session=([^;]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '');
    authorization.isAuthorizationApproved = authorization.user !== undefined;
    handleFastifyReply(reply, await server.completeAuthorizationRequest(authorization));
  } catch (error) {
    handleFastifyError(error, reply);
  }
  return reply;
});

/** The six checks of https://tsoauth2server.com/docs/getting_started/protecting_resources. */
app.get('/protected', async (request, reply) => {
  const { authorization } = request.headers;
  if (!authorization?.startsWith('Bearer ')) return reply.code(401).send({ error: 'invalid_request' });
  try {
    const payload = await jwt.verify(authorization.slice(7));
    const stored = find(byAccessToken, String(payload.jti));
    const isGood = payload.iss === issuer && stored.accessTokenExpiresAt > new Date();
    if (!isGood) return reply.code(401).send({ error: 'invalid_token' });
    if (!String(payload.scope).split(' ').includes(SCOPE)) return reply.code(403).send({ error: 'insufficient_scope' });
    return { sub: payload.sub };
  } catch {
    return reply.code(401).send({ error: 'invalid_token' });
  }
});

/** Before anything is measured. */
app.get<{ Querystring: { as: string } }>('/sign-in', async (request, reply) => {
  const id = request.query.as;
  users.set(id, { id });
  return reply.header('set-cookie', `session=${id}; HttpOnly`).send({});
});

app.get('/readyz', async () => ({ status: 'ok' }));
await app.listen({ host: '127.0.0.1', port: Number(port) });

function sameText(a: string, b: string): boolean {
  const [first, second] = [Buffer.from(a), Buffer.from(b)];
  return first.length === second.length && timingSafeEqual(first, second);
}
