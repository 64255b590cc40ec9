import { Type } from 'typebox';
import { REASONS } from '../http/errors.ts';
import { COMMON_BODY_ERRORS, describeErrors, NO_STORE } from '../http/openapi.ts';

const list = (description: string) => Type.Array(Type.String(), { description });

const CLIENT_METADATA = {
  redirect_uris: list('Where users are sent back to.'),
  client_name: Type.String({ description: 'Its name. Users see it, marked as not verified.' }),
  scope: Type.String({ description: 'The scopes that it may request, separated by spaces: all.' }),
  grant_types: list('With `authorization_code`.'),
  response_types: list('With `code`.'),
  token_endpoint_auth_method: Type.String({ description: 'In the response always `none`.' }),
};

/**
 * The server checks the fields itself, because RFC 7591 §3.2.2 has error codes for them. So this names them without their
 * types. Unknown fields are ignored (§2).
 */
const REGISTRATION_REQUEST = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  description: 'RFC 7591 §2. Only `redirect_uris` is required.',
  properties: {
    redirect_uris: { description: 'A list: where users are sent back to.' },
    client_name: { description: 'Its name. Users see it, marked as not verified.' },
    scope: { description: 'Text, if sent. It is replaced by all scopes.' },
    grant_types: { description: 'A list with `authorization_code`, if sent.' },
    response_types: { description: 'A list with `code`, if sent.' },
    token_endpoint_auth_method: { description: 'Any value is replaced by `none`.' },
  },
  examples: [{ client_name: 'Assistant', redirect_uris: ['http://127.0.0.1/callback'] }],
});

export const REGISTRATION = Type.Object(
  {
    client_id: Type.String({ description: 'Contains the metadata, signed by this server.' }),
    client_id_issued_at: Type.Integer({ description: 'In seconds since 1970.', examples: [1893456000] }),
    ...CLIENT_METADATA,
  },
  { $id: 'Registration', description: 'RFC 7591 §3.2.1.' },
);

export const registerOperation = {
  operationId: 'register',
  tags: ['Authorization'],
  summary: 'Register an app dynamically',
  description:
    'For apps that use the MCP server and have no metadata document (RFC 7591). Nothing is stored: the `client_id` contains the ' +
    'metadata. There is no secret, so the app uses PKCE, and users always see the consent screen.',
  security: [],
  consumes: ['application/json'],
  body: REGISTRATION_REQUEST,
  response: {
    201: {
      description: 'The registered app.',
      headers: NO_STORE,
      content: {
        'application/json': {
          schema: { $ref: 'Registration#' },
          example: {
            client_id: 'dyn_…',
            client_id_issued_at: 1893456000,
            client_name: 'Assistant',
            redirect_uris: ['http://127.0.0.1/callback'],
            grant_types: ['authorization_code', 'refresh_token'],
            response_types: ['code'],
            token_endpoint_auth_method: 'none',
            scope: 'read:invoices',
          },
        },
      },
    },
    400: describeErrors({
      invalid_redirect_uri: REASONS.invalid_redirect_uri,
      invalid_client_metadata: REASONS.invalid_client_metadata,
      invalid_request: ['field_repeated', 'body_malformed'],
    }),
    413: COMMON_BODY_ERRORS[413],
    415: COMMON_BODY_ERRORS[415],
    429: COMMON_BODY_ERRORS[429],
  },
};
