import { Type } from 'typebox';
import { REASONS } from '../http/errors.ts';
import { COMMON_ERRORS, describeErrors, NO_STORE } from '../http/openapi.ts';
import type { RawQuery } from '../http/paging.ts';
import type { Access } from '../oauth/bearer.ts';
import { SCOPES } from '../oauth/scopes.ts';
import type { Database } from '../storage/storage.ts';

/**
 * One endpoint of the protected API. Authentication, the scope and business checks, the rate limit, the usage count, CORS
 * and the OpenAPI operation all follow from this declaration (`routes.ts` mounts it).
 */
export interface ProtectedEndpoint {
  method: 'GET';
  path: string;
  /**
   * With a scope, a request needs a token that has it and an `x-business-id` that matches the token. `null` declares an
   * endpoint that any valid token may call, without the header.
   */
  scope: string | null;
  operationId: string;
  summary: string;
  /** What the endpoint needs is appended. */
  description: string;
  /** A TypeBox object. Handlers validate its values themselves, for error messages that name the parameter. */
  query?: object;
  response: {
    description: string;
    /** The name of the schema in the OpenAPI document. */
    name: string;
    schema: object;
    /** Whether the body is a list of these. */
    isList?: boolean;
    headers?: Record<string, object>;
    example: unknown;
  };
  handle(db: Database, access: Access, query: RawQuery<Record<string, unknown>>): Promise<ApiResult>;
}

export interface ApiResult {
  body: unknown;
  /** The query of the next page, if there is one; sent as a `Link` header. */
  next?: Record<string, string | undefined>;
}

const CHALLENGE = { 'www-authenticate': Type.String({ description: 'RFC 6750 §3.', examples: ['Bearer'] }) };

const UNAUTHORIZED = describeErrors(
  { unauthorized: REASONS.unauthorized, invalid_token: REASONS.invalid_token },
  CHALLENGE,
);

const FORBIDDEN = describeErrors(
  { insufficient_scope: REASONS.insufficient_scope, business_mismatch: REASONS.business_mismatch },
  CHALLENGE,
);

const BUSINESS_HEADER = Type.Object({
  'x-business-id': Type.String({
    format: 'uuid',
    description: 'The business that the token acts in. It selects; it never grants.',
  }),
});

/** Throws for a scope that is missing or not in the list of scopes, so the server does not start. */
export function assertScopeDeclared({ method, path, scope }: ProtectedEndpoint): void {
  if (scope === null || SCOPES.some(({ name }) => name === scope)) return;
  throw new Error(`${method} ${path} declares the scope ${scope}, which is not in src/oauth/scopes.ts.`);
}

/** The schema of its route, from which the OpenAPI document is generated. */
export function describeEndpoint(endpoint: ProtectedEndpoint) {
  const { scope, query, operationId, summary, description } = endpoint;
  const needs = scope ? `It needs the scope \`${scope}\`.` : 'It needs no scope and no `x-business-id`.';
  return {
    operationId,
    tags: ['Business API'],
    summary,
    description: `${description} ${needs}`,
    security: [{ oauth2: scope ? [scope] : [] }],
    ...(scope && { headers: BUSINESS_HEADER }),
    ...(query && { querystring: query }),
    response: {
      200: describeSuccess(endpoint),
      400: describeBadRequest(endpoint),
      401: UNAUTHORIZED,
      ...(scope && { 403: FORBIDDEN }),
      ...COMMON_ERRORS,
    },
  };
}

function describeSuccess({ response }: ProtectedEndpoint) {
  const { description, name, isList, headers, example } = response;
  const item = Type.Unsafe({ $ref: `${name}#` });
  const content = { 'application/json': { schema: isList ? Type.Array(item) : item, example } };
  return { description, headers: { ...NO_STORE, ...headers }, content };
}

function describeBadRequest({ scope, query }: ProtectedEndpoint) {
  const forBusiness = scope ? (['business_id_malformed'] as const) : [];
  const forQuery = query ? (['value_not_allowed', 'field_repeated'] as const) : [];
  return describeErrors({ invalid_request: [...forBusiness, ...forQuery, 'token_in_address'] }, CHALLENGE);
}
