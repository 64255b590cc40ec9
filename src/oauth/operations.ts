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
import { serverMetadata } from './metadata.ts';
import {
  AUTHORIZE_QUERY,
  EMPTY,
  EXAMPLE_APP,
  INTROSPECTION,
  INTROSPECTION_REQUEST,
  METADATA,
  REVOCATION_REQUEST,
  TOKEN_REQUEST,
  TOKENS,
} from './schemas.ts';

const TAGS = ['Authorization'];
const CONTENT_TYPES = ['application/json', 'application/x-www-form-urlencoded'];

/** RFC 6749 §5.1. */
const NO_CACHE = {
  ...NO_STORE,
  pragma: Type.Literal('no-cache', { description: 'The same, for old caches.' }),
};

const CLIENT_SECURITY = [{ basic: [] }, {}];
const INVALID_CLIENT = describeErrors(
  { invalid_client: REASONS.invalid_client },
  { 'www-authenticate': Type.String({ description: 'Sent where HTTP Basic was used.' }) },
);
const REQUEST_REASONS = [...BODY_REASONS, 'credentials_sent_twice'] as const;

export const authorizeOperation = {
  operationId: 'authorize',
  tags: TAGS,
  summary: 'Send a user to sign in and decide',
  description:
    'Redirect the user’s browser here, rather than fetch it. A sound request goes on to the sign-in and ' +
    'consent pages, whose host may move at any time, and ends at the `redirect_uri` with `code`, `state` and `iss`, or with ' +
    '`error`, `error_description`, `error_uri`, `reason`, `state` and `iss`. One of these parameters sent twice is an ' +
    'error, an empty one counts as absent, an unknown one is ignored, repeated or not.',
  security: [],
  querystring: AUTHORIZE_QUERY,
  response: {
    303: {
      type: 'null',
      description: 'On to the consent pages; or, if something is wrong with the request, back to the app with `error`.',
      headers: { 'x-request-id': REQUEST_ID, location: Type.String({ format: 'uri', description: 'Where to go.' }) },
    },
    400: describePage('The app is unknown or disabled, or the address is not one of its own.'),
    500: describePage('Something failed here that should not have.'),
    503: describePage('The database cannot be reached.', { 'retry-after': RETRY_AFTER }),
  },
  'x-callback-errors': [
    'invalid_request',
    'unsupported_response_type',
    'invalid_scope',
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
    'Both grant types answer with the same five fields. A code that comes twice revokes what it first gave, so never repeat ' +
    'an exchange whose answer was lost. A refresh may be repeated: for 30 seconds a used refresh token gets the same pair ' +
    'again, byte for byte (unless the operator has chosen another time). After that it gets the same refresh token with a new ' +
    'access token, until something of the new pair has been used; then it is taken for stolen, and the grant ends. The app proves itself with its credentials, in the body or by HTTP Basic.',
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
    }),
    401: INVALID_CLIENT,
    ...COMMON_BODY_ERRORS,
  },
};

export const revokeOperation = {
  operationId: 'revoke',
  tags: TAGS,
  summary: 'End a token',
  description:
    'The token alone is enough (RFC 7009). A `client_id` may be added, or all credentials, which must then be right; another ' +
    'app’s token is then left as it is. The answer is the same for a token that was already ended, has expired or never was.',
  security: CLIENT_SECURITY,
  consumes: CONTENT_TYPES,
  body: REVOCATION_REQUEST,
  response: {
    200: {
      description: 'The token does not work, or not any more.',
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
    'An app learns of its own tokens only (RFC 7662), and proves itself with its credentials, in the body or by HTTP Basic. ' +
    'Whatever else is sent answers `{"active":false}`.',
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
      business_id: '0190b9a1-5e1a-7b22-9c33-1a2b3c4d5e6f',
    }),
    400: describeErrors({ invalid_request: REQUEST_REASONS }),
    401: INVALID_CLIENT,
    ...COMMON_BODY_ERRORS,
  },
};

export const metadataOperation = {
  operationId: 'metadata',
  tags: TAGS,
  summary: 'Configure a client',
  description: 'What any OAuth 2.0 client needs to know of this server (RFC 8414).',
  security: [],
  response: {
    200: {
      description: 'The server’s metadata.',
      headers: { 'x-request-id': REQUEST_ID },
      content: {
        'application/json': { schema: { $ref: 'Metadata#' }, example: serverMetadata('https://api.example.com') },
      },
    },
  },
};

/** The shapes that have a name of their own in the reference. */
export const NAMED_SCHEMAS = [TOKENS, INTROSPECTION, METADATA, ERROR];

/** Where a browser stands, a person reads. */
function describePage(meaning: string, more: Record<string, object> = {}) {
  const headers = { 'x-request-id': REQUEST_ID, ...more };
  const example = '<!doctype html>…';
  return { description: `A page: ${meaning}`, headers, content: { 'text/html': { schema: Type.String(), example } } };
}

function describeResponse(description: string, name: string, example: object) {
  const schema = { $ref: `${name}#` };
  return { description, headers: NO_CACHE, content: { 'application/json': { schema, example } } };
}
