import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import '../request-log/routes.ts';
import type { TokenUses } from '../grants/token-uses.ts';
import { addCorsHeaders, allowAnyOrigin, allowBrowsers, mountPreflight } from '../http/cors.ts';
import { nothingAtAddress } from '../http/errors.ts';
import { documentedBy } from '../http/openapi.ts';
import type { Languages } from '../languages/languages.ts';
import type { Clock } from '../lib/clock.ts';
import { isId } from '../lib/ids.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { Storage } from '../storage/storage.ts';
import { logRejection } from './authorize/rejections.ts';
import { type AuthorizeDeps, readAuthorizationRequest } from './authorize/request.ts';
import { appendTimestamp, rawQuery } from './authorize/timestamp.ts';
import { type Access, readAccess, type Target } from './bearer.ts';
import type { ClientCredentials } from './client-authentication.ts';
import { OAuthError } from './errors.ts';
import { respondToIntrospection } from './introspect.ts';
import { resourceMetadata, serverMetadata } from './metadata.ts';
import {
  authorizeOperation,
  introspectOperation,
  metadataOperation,
  NAMED_SCHEMAS,
  resourceOperations,
  revokeOperation,
  tokenOperation,
} from './operations.ts';
import { type RegistrationDeps, rejectRegistration, respondToRegistration } from './register.ts';
import { REGISTRATION, registerOperation } from './register-operation.ts';
import { mcpResource, resourceMetadataUri } from './resource-indicators.ts';
import { respondToRevocation } from './revoke.ts';
import { respondToTokenRequest, type TokenDeps } from './token/endpoint.ts';

interface OAuthDeps extends TokenDeps, AuthorizeDeps, RegistrationDeps {
  languages: Languages;
  consentUrl: string;
  platformName: string;
  servesMcp: boolean;
  clock: Clock;
  limits: TokenDeps['limits'] & BearerDeps['limits'] & RegistrationDeps['limits'];
}

export interface BearerDeps {
  storage: Storage;
  keys: Keyring;
  clock: Clock;
  uses: TokenUses;
  issuer: string;
  limits: { perGrant: RateLimit };
}

/** Everything that RFC 6749, 7009, 7591, 7662 and 8414 put on the API host. */
export function mountOAuth(host: FastifyInstance, deps: OAuthDeps): void {
  const { keys, issuer, clock } = deps;
  for (const schema of NAMED_SCHEMAS) host.addSchema(schema);

  // Checks the request and redirects it to the consent page: this host reads no cookies, so it knows no user.
  host.get('/api/v1/oauth/authorize', documentedBy(authorizeOperation), async (request, reply) => {
    const query = rawQuery(request.url);
    await readAuthorizationRequest(deps, query, request.ip).catch((error) => {
      logRejection(request.requestContext, query, error);
      throw error;
    });
    return reply.redirect(`${deps.consentUrl}/consent?${appendTimestamp(keys, query, clock())}`, 303);
  });

  mountEndpoint(host, deps, {
    path: 'token',
    isForPublicClients: true,
    schema: tokenOperation,
    respond: respondToTokenRequest,
  });
  mountEndpoint(host, deps, {
    path: 'revoke',
    isForPublicClients: true,
    schema: revokeOperation,
    respond: respondToRevocation,
  });
  mountEndpoint(host, deps, {
    path: 'introspect',
    isForPublicClients: false,
    schema: introspectOperation,
    respond: respondToIntrospection,
  });

  const { documents, acceptsRegistrations } = deps.externalClients;
  mountRegistration(host, deps);

  const described = serverMetadata(issuer, {
    acceptsDocuments: documents !== undefined,
    acceptsRegistrations,
    languages: deps.languages,
  });
  const metadata = '/.well-known/oauth-authorization-server';
  host.get(metadata, { schema: metadataOperation, onRequest: allowAnyOrigin }, async () => described);
  mountPreflight(host, metadata);
  mountResourceMetadata(host, deps);
}

/** RFC 9728. On the MCP server of a business it reveals nothing: any UUID gets a response. */
function mountResourceMetadata(host: FastifyInstance, deps: OAuthDeps): void {
  const mount = (resource: string | null, schema: object) => {
    const path = resourceMetadataUri('', resource);
    host.get<{ Params: { businessId?: string } }>(
      path,
      { ...documentedBy(schema), onRequest: allowAnyOrigin },
      async ({ params: { businessId } }) => {
        if (businessId !== undefined && !isId(businessId)) throw nothingAtAddress();
        return resourceMetadata(deps, businessId === undefined ? resource : mcpResource(businessId));
      },
    );
    mountPreflight(host, path);
  };
  mount(null, resourceOperations.api);
  if (!deps.servesMcp) return;
  mount(mcpResource(), resourceOperations.mcp);
  mount(mcpResource(':businessId'), resourceOperations.business);
}

function mountRegistration(host: FastifyInstance, deps: OAuthDeps): void {
  const path = '/api/v1/oauth/register';
  mountPreflight(host, path);
  if (!deps.externalClients.acceptsRegistrations) {
    host.post(path, { schema: { hide: true }, onRequest: [allowBrowsers, rejectRegistration] }, () => {});
    return;
  }
  host.addSchema(REGISTRATION);
  host.post(path, { schema: registerOperation, onRequest: allowBrowsers }, async (request, reply) => {
    reply.code(201).header('cache-control', 'no-store');
    const fields = request.body as Record<string, unknown>;
    return respondToRegistration(deps, { fields, address: request.ip }, deps.clock());
  });
}

interface Endpoint<Fields> {
  path: string;
  /** Whether a public client can use it, which may be a page. */
  isForPublicClients: boolean;
  schema: object;
  respond(deps: TokenDeps, fields: Partial<Fields>, credentials: ClientCredentials, now: number): Promise<object>;
}

type Credentials = Partial<Record<'client_id' | 'client_secret', string>>;

function mountEndpoint<Fields extends Credentials>(
  host: FastifyInstance,
  deps: OAuthDeps,
  { path, isForPublicClients, schema, respond }: Endpoint<Fields>,
): void {
  const url = `/api/v1/oauth/${path}`;
  if (isForPublicClients) mountPreflight(host, url);
  const options = isForPublicClients ? { schema, onError: allowBrowsersToRead } : { schema };
  host.post<{ Body: Fields }>(url, options, (request, reply) => {
    if (isForPublicClients && request.headers.origin !== undefined) addCorsHeaders(reply);
    // RFC 6749 §5.1: caches must not store tokens, or information about them.
    reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
    const fields = withoutEmpty(request.body as Fields);
    const credentials = {
      authorization: readAuthorization(request),
      clientId: fields.client_id,
      clientSecret: fields.client_secret,
      address: request.ip,
      context: request.requestContext,
    };
    return respond(deps, fields, credentials, deps.clock());
  });
}

/** The error may be from before the handler. */
function allowBrowsersToRead(request: FastifyRequest, reply: FastifyReply, _: Error, done: () => void): void {
  allowBrowsers(request, reply, done);
}

/** Authenticates a request to a protected resource, and counts it. */
export async function accessOf(
  deps: BearerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  target: Target,
): Promise<Access> {
  reply.header('cache-control', 'no-store');
  const access = await checkAccess(deps, request, target);
  await deps.limits.perGrant.count(access.grantId);
  return access;
}

/** Authenticates a request to a protected resource. */
export async function checkAccess(
  { storage, keys, clock, uses, issuer }: BearerDeps,
  request: FastifyRequest,
  target: Target,
): Promise<Access> {
  const { query, requestContext: context } = request;
  const authorization = readAuthorization(request);
  const { access_token: sent } = query as { access_token?: string | string[] };
  const inQuery = sent !== undefined && [sent].flat().some((value) => value !== '');
  const presented = { authorization, inQuery, target, context };
  return readAccess({ db: storage.durable, keys, uses, issuer }, presented, clock());
}

/** Node keeps the first of several. Reading `headersDistinct` would copy all headers. */
export function readAuthorization({ headers, raw: { rawHeaders } }: FastifyRequest): string | undefined {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 'authorization'.length && name.toLowerCase() === 'authorization') count += 1;
  }
  if (count <= 1) return headers.authorization;
  const description = 'The header Authorization was sent more than once.';
  throw new OAuthError('invalid_request', 'credentials_sent_twice', description);
}

/** An empty field counts as absent. */
function withoutEmpty<Fields extends object>(fields: Fields): Partial<Fields> {
  if (!Object.values(fields).includes('')) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')) as Partial<Fields>;
}
