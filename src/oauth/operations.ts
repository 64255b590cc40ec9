import { Type } from 'typebox';
import { REASONS } from '../http/errors.ts';
import {
  BODY_REASONS,
  COMMON_BODY_ERRORS,
  describeErrors,
  ERROR,
  NO_STORE,
  REQUEST_ID,
  RETRY_AFTER,
} from '../http/openapi.ts';
import { LANGUAGES } from '../languages/languages.ts';
import { resourceMetadata, serverMetadata } from './metadata.ts';
import { businessOf, mcpResource, type Resource } from './resource-indicators.ts';
import {
  AUTHORIZE_QUERY,
  EMPTY,
  EXAMPLE_APP,
  INTROSPECTION,
  INTROSPECTION_REQUEST,
  METADATA,
  RESOURCE_METADATA,
  REVOCATION_REQUEST,
  TOKEN_REQUEST,
  TOKENS,
} from './schemas.ts';

const TAGS = ['Authorization'];
const EXAMPLE_BUSINESS = '0190b9a1-5e1a-7b22-9c33-1a2b3c4d5e6f';
const CONTENT_TYPES = ['application/json', 'application/x-www-form-urlencoded'];

/** RFC 6749 §5.1. */
const NO_CACHE = {
  ...NO_STORE,
  pragma: Type.Literal('no-cache', { description: 'The same, for HTTP/1.0 caches.' }),
};

/** Samples use the first: the credentials in the body. */
const CLIENT_SECURITY = [{}, { basic: [] }];
const INVALID_CLIENT = describeErrors(
  { invalid_client: REASONS.invalid_client },
  { 'www-authenticate': Type.String({ description: 'Sent if the request used HTTP Basic.' }) },
);
const REQUEST_REASONS = [...BODY_REASONS, 'credentials_sent_twice'] as const;

export const authorizeOperation = {
  operationId: 'authorize',
  tags: TAGS,
  summary: 'Ask a user to authorize the app',
  description:
    'Redirect the user’s browser to this URL; do not fetch it. A valid request is redirected to the sign-in and consent ' +
    'pages, whose host may change, and then to the `redirect_uri` with `code`, `state` and `iss`, or with `error`, ' +
    '`error_description`, `error_uri`, `reason`, `state` and `iss`. A known parameter that is sent twice is an error, an empty ' +
    'parameter counts as absent, and unknown parameters are ignored.',
  security: [],
  querystring: AUTHORIZE_QUERY,
  response: {
    303: {
      type: 'null',
      description: 'To the consent page or, if the request is not valid, back to the app with `error`.',
      headers: { 'x-request-id': REQUEST_ID, location: Type.String({ format: 'uri', description: 'Where to go.' }) },
    },
    400: describePage('The app is unknown or disabled, or the redirect URI is not registered for it.'),
    429: describePage('Too many metadata documents were fetched for this network.', { 'retry-after': RETRY_AFTER }),
    500: describePage('An internal error.'),
    503: describePage('The database is not available.', { 'retry-after': RETRY_AFTER }),
  },
  'x-callback-errors': [
    'invalid_request',
    'unsupported_response_type',
    'invalid_scope',
    'invalid_target',
    'access_denied',
    'login_required',
    'consent_required',
    'temporarily_unavailable',
  ],
};

export const tokenOperation = {
  operationId: 'token',
  tags: TAGS,
  summary: 'Exchange a code, or refresh',
  description:
    'Both grant types return the same five fields. A code that is sent twice revokes the tokens of the first exchange, so never ' +
    'repeat an exchange whose response was lost. A refresh may be repeated: for 30 seconds (the operator can change this) a ' +
    'used refresh token gets the same pair again, byte for byte. After that it gets the same refresh token with a new access ' +
    'token, until a token of the new pair has been used; from then on it counts as stolen, and the grant is revoked. The app ' +
    'authenticates with its credentials, in the body or by HTTP Basic. A public app has no secret and sends its `client_id` alone.',
  security: CLIENT_SECURITY,
  consumes: CONTENT_TYPES,
  body: TOKEN_REQUEST,
  response: {
    200: describeResponse('The tokens.', 'Tokens', {
      access_token: 'gat_…',
      token_type: 'bearer',
      expires_in: 3600,
      refresh_token: 'grt_…',
      scope: 'read:invoices',
    }),
    400: describeErrors({
      invalid_grant: REASONS.invalid_grant,
      invalid_request: REQUEST_REASONS,
      unsupported_grant_type: REASONS.unsupported_grant_type,
      invalid_scope: ['scope_not_allowed'],
      invalid_target: ['resource_unknown', 'resource_repeated', 'resource_different'],
    }),
    401: INVALID_CLIENT,
    ...COMMON_BODY_ERRORS,
  },
};

export const revokeOperation = {
  operationId: 'revoke',
  tags: TAGS,
  summary: 'Revoke a token',
  description:
    'The token alone is enough (RFC 7009). With a `client_id`, or with full credentials, which must then be correct, only a token ' +
    'of that app is revoked. The response is the same for a token that is already revoked, has expired or never existed.',
  security: CLIENT_SECURITY,
  consumes: CONTENT_TYPES,
  body: REVOCATION_REQUEST,
  response: {
    200: {
      description: 'The token no longer works.',
      headers: NO_CACHE,
      content: { 'application/json': { schema: EMPTY, example: {} } },
    },
    400: describeErrors({ invalid_request: REQUEST_REASONS }),
    401: INVALID_CLIENT,
    ...COMMON_BODY_ERRORS,
  },
};

export const introspectOperation = {
  operationId: 'introspect',
  tags: TAGS,
  summary: 'Introspect a token',
  description:
    'An app can introspect its own tokens only (RFC 7662). A first-party app that the operator lists in `INTROSPECTION_CLIENTS` ' +
    'can introspect the access tokens of every app, to protect an API of the platform. An app authenticates with its credentials, in the body or by HTTP Basic. The response for any other ' +
    'token is `{"active":false}`.',
  security: CLIENT_SECURITY,
  consumes: CONTENT_TYPES,
  body: INTROSPECTION_REQUEST,
  response: {
    200: describeResponse('Whether the token is active, and what it allows.', 'Introspection', {
      active: true,
      scope: 'read:invoices',
      client_id: EXAMPLE_APP,
      token_type: 'bearer',
      exp: 1893459600,
      iat: 1893456000,
      sub: '0190b9a1-6f2b-7a11-8f00-5d1c2b3a4f60',
      iss: 'https://api.example.com',
      business_id: EXAMPLE_BUSINESS,
    }),
    400: describeErrors({ invalid_request: REQUEST_REASONS }),
    401: INVALID_CLIENT,
    ...COMMON_BODY_ERRORS,
  },
};

export const metadataOperation = {
  operationId: 'metadata',
  tags: TAGS,
  summary: 'Get the server metadata',
  description: 'The endpoints and capabilities of this server, for OAuth 2.0 clients (RFC 8414).',
  security: [],
  response: {
    200: {
      description: 'The server’s metadata.',
      headers: { 'x-request-id': REQUEST_ID },
      content: {
        'application/json': {
          schema: { $ref: 'Metadata#' },
          example: serverMetadata('https://api.example.com', {
            acceptsDocuments: true,
            acceptsRegistrations: false,
            languages: LANGUAGES,
          }),
        },
      },
    },
  },
};

/** One for each kind of resource. */
export const resourceOperations = {
  api: describeResource('apiResource', 'Describe the business API', null),
  mcp: describeResource('mcpResource', 'Describe the MCP server', mcpResource()),
  business: {
    ...describeResource('businessMcpResource', 'Describe the MCP server of a business', mcpResource(EXAMPLE_BUSINESS)),
    params: Type.Object({ businessId: Type.String({ format: 'uuid', description: 'Any id: it reveals nothing.' }) }),
  },
};

function describeResource(operationId: string, summary: string, resource: Resource) {
  const example = resourceMetadata({ issuer: 'https://api.example.com', platformName: 'Example' }, resource);
  return {
    operationId,
    tags: TAGS,
    summary,
    description:
      'Which resource this is, and who issues its tokens, for OAuth 2.0 clients (RFC 9728). Every 401 links to it.',
    security: [],
    response: {
      200: {
        description: 'The metadata of the resource.',
        headers: { 'x-request-id': REQUEST_ID },
        content: { 'application/json': { schema: { $ref: 'ResourceMetadata#' }, example } },
      },
      ...(businessOf(resource) && { 404: describeErrors({ not_found: REASONS.not_found }) }),
    },
  };
}

/** Schemas that the OpenAPI document lists by name. */
export const NAMED_SCHEMAS = [TOKENS, INTROSPECTION, METADATA, RESOURCE_METADATA, ERROR];

/** For responses to a browser. */
function describePage(meaning: string, more: Record<string, object> = {}) {
  const headers = { 'x-request-id': REQUEST_ID, ...more };
  const example = '<!doctype html>…';
  return { description: `A page: ${meaning}`, headers, content: { 'text/html': { schema: Type.String(), example } } };
}

function describeResponse(description: string, name: string, example: object) {
  const schema = { $ref: `${name}#` };
  return { description, headers: NO_CACHE, content: { 'application/json': { schema, example } } };
}
