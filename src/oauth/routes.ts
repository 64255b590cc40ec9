import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import '../request-log/routes.ts';
import type { TokenUses } from '../grants/token-uses.ts';
import { allowAnyOrigin, mountPreflight } from '../http/cors.ts';
import { documentedBy } from '../http/openapi.ts';
import type { Clock } from '../lib/clock.ts';
import type { Keyring } from '../lib/keyring.ts';
import { rawQuery } from '../lib/query.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { Storage } from '../storage/storage.ts';
import { readAuthorizationRequest, stamp } from './authorize/request.ts';
import { type Access, readAccess } from './bearer.ts';
import type { ClientCredentials } from './client-authentication.ts';
import { answerIntrospection } from './introspect.ts';
import { serverMetadata } from './metadata.ts';
import {
  authorizeOperation,
  introspectOperation,
  metadataOperation,
  NAMED_SCHEMAS,
  revokeOperation,
  tokenOperation,
} from './operations.ts';
import { answerRevocation } from './revoke.ts';
import { answerTokenRequest, type TokenDeps } from './token/endpoint.ts';

interface OAuthParts extends TokenDeps {
  consentUrl: string;
  clock: Clock;
  limits: TokenDeps['limits'] & BearerParts['limits'];
}

export interface BearerParts {
  storage: Storage;
  keys: Keyring;
  clock: Clock;
  uses: TokenUses;
  limits: { perGrant: RateLimit };
}

/** Everything that RFC 6749, 7009, 7662 and 8414 put on the API host. */
export function mountOAuth(host: FastifyInstance, parts: OAuthParts): void {
  const { storage, keys, issuer, clock } = parts;
  for (const schema of NAMED_SCHEMAS) host.addSchema(schema);

  // The browser's first stop. It is only checked here and sent on: this host knows no cookies, so it knows no user.
  host.get('/api/v1/oauth/authorize', documentedBy(authorizeOperation), async (request, reply) => {
    const query = rawQuery(request.url);
    await readAuthorizationRequest(storage.durable, query);
    return reply.redirect(`${parts.consentUrl}/consent?${stamp(keys, query, clock())}`, 303);
  });

  mountEndpoint(host, parts, { path: 'token', schema: tokenOperation, answer: answerTokenRequest });
  mountEndpoint(host, parts, { path: 'revoke', schema: revokeOperation, answer: answerRevocation });
  mountEndpoint(host, parts, { path: 'introspect', schema: introspectOperation, answer: answerIntrospection });

  const metadata = '/.well-known/oauth-authorization-server';
  host.get(metadata, { schema: metadataOperation, onRequest: allowAnyOrigin }, async () => serverMetadata(issuer));
  mountPreflight(host, metadata);
}

interface Endpoint<Fields> {
  path: string;
  schema: object;
  answer(parts: TokenDeps, fields: Partial<Fields>, credentials: ClientCredentials, now: number): Promise<object>;
}

type Credentials = Partial<Record<'client_id' | 'client_secret', string>>;

function mountEndpoint<Fields extends Credentials>(
  host: FastifyInstance,
  parts: OAuthParts,
  { path, schema, answer }: Endpoint<Fields>,
): void {
  host.post<{ Body: Fields }>(`/api/v1/oauth/${path}`, { schema }, (request, reply) => {
    // RFC 6749 §5.1: neither tokens nor what is said about them may be kept by a cache.
    reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
    const fields = withoutEmpty(request.body as Fields);
    return answer(parts, fields, credentialsOf(request, fields), parts.clock());
  });
}

/** Who calls the business API, and what they may do. */
export async function accessOf(
  { storage, keys, clock, uses, limits }: BearerParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Access> {
  reply.header('cache-control', 'no-store');
  const { authorization } = request.headers;
  const inQuery = Object.hasOwn(request.query as object, 'access_token');
  const { requestContext: context } = request;
  const access = await readAccess({ db: storage.durable, keys, uses }, { authorization, inQuery, context }, clock());
  await limits.perGrant.count(access.grantId);
  return access;
}

function credentialsOf(request: FastifyRequest, fields: Credentials): ClientCredentials {
  return {
    authorization: request.headers.authorization,
    clientId: fields.client_id,
    clientSecret: fields.client_secret,
    address: request.ip,
    context: request.requestContext,
  };
}

/** An empty field counts as absent. */
function withoutEmpty<Fields extends object>(fields: Fields): Partial<Fields> {
  if (!Object.values(fields).includes('')) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')) as Partial<Fields>;
}
