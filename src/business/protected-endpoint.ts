import { Type } from 'typebox';
import { REASONS } from '../http/errors.ts';
import { COMMON_BODY_ERRORS, COMMON_ERRORS, describeErrors, NO_STORE } from '../http/openapi.ts';
import type { RawQuery } from '../http/paging.ts';
import type { Access } from '../oauth/bearer.ts';
import { SCOPES } from '../oauth/scopes.ts';
import type { Database } from '../storage/storage.ts';

/**
 * One endpoint of the protected API. Authentication, the scope and business checks, the rate limit, the usage count, CORS
 * and the OpenAPI operation all follow from this declaration (`routes.ts` mounts it).
 */
export interface ProtectedEndpoint {
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  /**
   * With a scope, a request needs a token that has it and an `x-business-id` that matches the token. `null` declares an
   * endpoint that any valid token may call, without the header.
   */
  scope: string | null;
  operationId: string;
  /** The name of its tool at the MCP server, by default the operationId in snake case. False if it has none. */
  tool?: string | false;
  /** Its page in the API reference, by default `Business API`. */
  tag?: string;
  summary: string;
  /** What the endpoint needs is appended. */
  description: string;
  /** A TypeBox object. Handlers validate its values themselves, for error messages that name the parameter. */
  query?: object;
  /** The schema of the parameters in the path. */
  params?: object;
  /** A TypeBox object, which the handler validates. */
  body?: object;
  /** 64 KiB by default. */
  bodyLimit?: number;
  /** Whether it takes `If-Match`. */
  isConditional?: boolean;
  /** Whether no other endpoint can undo it. */
  isDestructive?: boolean;
  /** Whether it responds 409 if the state of the record does not allow it. */
  hasConflicts?: boolean;
  response: {
    /** 200 by default. */
    status?: number;
    description: string;
    /** The name of the schema in the OpenAPI document. */
    name: string;
    schema: object;
    /** Whether the body is a list of these. */
    isList?: boolean;
    headers?: Record<string, object>;
    example: unknown;
  };
  handle(request: ApiRequest): Promise<ApiResult>;
}

/** A request that has passed all checks of its endpoint. */
export interface ApiRequest {
  db: Database;
  access: Access;
  method: string;
  url: string;
  query: RawQuery<Record<string, unknown>>;
  params: { id: string };
  body: unknown;
  headers: Record<string, string | undefined>;
  now: number;
}

export interface ApiResult {
  /** 200 by default. */
  status?: number;
  body: unknown;
  headers?: Record<string, string>;
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

const BUSINESS_HEADER = {
  'x-business-id': Type.String({
    format: 'uuid',
    description: 'The business that the token acts in. The header grants no access.',
    examples: ['0190b9a1-5e1a-7b22-9c33-1a2b3c4d5e6f'],
  }),
};

/** Throws for a scope that is missing or not in the list of scopes, so the server does not start. */
export function assertScopeDeclared({ method, path, scope }: ProtectedEndpoint): void {
  if (scope === null || SCOPES.some(({ name }) => name === scope)) return;
  throw new Error(`${method} ${path} declares the scope ${scope}, which is not in src/oauth/scopes.ts.`);
}

/** The example differs by operation, since a key works for one. */
const writeHeaders = ({ operationId }: ProtectedEndpoint) => ({
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[!-~]{1,255}$',
      description:
        'Chosen by the client, one for each operation. Requests with the same key run once; the response is repeated for a day.',
      examples: [`${operationId}-1`],
    }),
  ),
});

/** Without an example, which would be in every sample, and match few records. */
const IF_MATCH = {
  'if-match': Type.Optional(
    Type.String({
      pattern: '^(\\*|(W/)?"\\d{1,9}")$',
      description: 'The ETag of the record as it was read, like `"3"`. Without it, the last change wins.',
    }),
  ),
};

/** The schema of its route, from which the OpenAPI document is generated. */
export function describeEndpoint(endpoint: ProtectedEndpoint) {
  const { scope, query, params, body, operationId, tag = 'Business API', summary, description, response } = endpoint;
  const needs = scope ? `It needs the scope \`${scope}\`.` : 'It needs no scope and no `x-business-id`.';
  return {
    operationId,
    tags: [tag],
    summary,
    description: `${description} ${needs}`,
    security: [{ oauth2: scope ? [scope] : [] }],
    ...(scope && { headers: describeHeaders(endpoint) }),
    ...(query && { querystring: query }),
    ...(params && { params }),
    ...(body && { body, consumes: ['application/json'] }),
    response: {
      [response.status ?? 200]: describeSuccess(endpoint),
      400: describeBadRequest(endpoint),
      401: UNAUTHORIZED,
      ...(scope && { 403: FORBIDDEN }),
      ...(params && { 404: describeErrors({ not_found: REASONS.not_found }) }),
      ...(endpoint.hasConflicts && { 409: describeErrors({ conflict: REASONS.conflict }) }),
      ...(endpoint.isConditional && { 412: describeErrors({ precondition_failed: REASONS.precondition_failed }) }),
      ...(isWrite(endpoint) && { 422: describeErrors({ invalid_request: ['idempotency_key_reused'] }) }),
      ...(isWrite(endpoint) ? COMMON_BODY_ERRORS : COMMON_ERRORS),
    },
  };
}

function describeHeaders(endpoint: ProtectedEndpoint) {
  const write = isWrite(endpoint) && writeHeaders(endpoint);
  return Type.Object({ ...BUSINESS_HEADER, ...write, ...(endpoint.isConditional && IF_MATCH) });
}

/** A write takes an `Idempotency-Key`. */
export const isWrite = ({ method }: ProtectedEndpoint) => method !== 'GET';

const REPLAYED = {
  'idempotency-replayed': Type.Optional(
    Type.Literal('true', { description: 'Sent with the response to an earlier request with this `Idempotency-Key`.' }),
  ),
};

function describeSuccess(endpoint: ProtectedEndpoint) {
  const { description, name, isList, headers, example } = endpoint.response;
  const item = Type.Unsafe({ $ref: `${name}#` });
  const content = { 'application/json': { schema: isList ? Type.Array(item) : item, example } };
  return { description, headers: { ...NO_STORE, ...(isWrite(endpoint) && REPLAYED), ...headers }, content };
}

function describeBadRequest(endpoint: ProtectedEndpoint) {
  const { scope, query, isConditional } = endpoint;
  const forBusiness = scope ? (['business_id_malformed'] as const) : [];
  const forQuery = query ? (['value_not_allowed', 'field_repeated'] as const) : [];
  const forBody = isWrite(endpoint) ? (['fields_invalid', 'body_malformed', 'idempotency_key_malformed'] as const) : [];
  const forVersion = isConditional ? (['if_match_malformed'] as const) : [];
  const reasons = [
    ...forBody,
    ...forVersion,
    ...forBusiness,
    ...forQuery,
    'token_in_address',
    'credentials_sent_twice',
  ] as const;
  return describeErrors({ invalid_request: reasons }, CHALLENGE);
}
