import { type Static, Type } from 'typebox';
import { textOrTexts } from '../http/openapi.ts';
import { SCOPES } from '../oauth/scopes.ts';

// The schemas of requests and responses. They validate requests, type the handlers and generate the API reference.
// Unknown fields of requests are ignored, whatever their type (RFC 6749 §3.2).

const textField = (description: string, example?: string, limits: { minLength?: number } = {}) =>
  Type.String({ description, ...(example !== undefined && { examples: [example] }), ...limits });
/** An empty field counts as absent, so it is rejected. */
const requiredText = (description: string, example?: string) => textField(description, example, { minLength: 1 });
/** An enum of a request. The explicit type is for client generators. */
export const oneOf = <const Words extends string[]>(words: Words, description: string) =>
  Type.Enum(words, { type: 'string', description });

/** An enum of a response. Values may be added, so it is not an `enum`, which a generated client would enforce. */
export const extensibleEnum = <const Words extends string[]>(words: Words, description: string) =>
  Type.Unsafe<Words[number]>({ type: 'string', 'x-extensible-enum': words, description });

const optionalText = (description: string, example?: string) => Type.Optional(textField(description, example));

export const EXAMPLE_APP = '0190b9a1-7d4c-7c5e-9a51-3c2f6f0e8d10';

const CREDENTIALS = {
  client_id: optionalText('The app. Omit it with HTTP Basic.', EXAMPLE_APP),
  client_secret: optionalText('One of the app’s secrets. Omit it with HTTP Basic, and for a public app.', 'gcs_…'),
};

export const TOKEN_REQUEST = Type.Object(
  {
    grant_type: requiredText(
      '`authorization_code` to exchange a code, `refresh_token` to refresh.',
      'authorization_code',
    ),
    ...CREDENTIALS,
    code: optionalText(
      'For an exchange: the code from the callback. It expires after 10 minutes and works once.',
      'gac_…',
    ),
    redirect_uri: optionalText(
      'For an exchange: exactly as in the authorize request. Omit it only if that request had none.',
      'https://app.example/callback',
    ),
    code_verifier: optionalText(
      'For an exchange: required if, and only if, the authorize request had a `code_challenge`.',
    ),
    refresh_token: optionalText('For a refresh: the newest refresh token.', 'grt_…'),
    scope: optionalText('For a refresh: fewer scopes for this access token, never more.', 'read:invoices'),
    resource: Type.Optional(
      textOrTexts(
        'The resource of the authorize request, which a client may repeat here (RFC 8707). Any other is an error.',
        'https://api.example.com/mcp',
      ),
    ),
  },
  {
    examples: [
      {
        grant_type: 'authorization_code',
        code: 'gac_…',
        redirect_uri: 'https://app.example/callback',
        code_verifier: 'aVerifierOfYourOwnThatHasAtLeast43Characters',
        client_id: EXAMPLE_APP,
        client_secret: 'gcs_…',
      },
      {
        grant_type: 'refresh_token',
        refresh_token: 'grt_…',
        client_id: EXAMPLE_APP,
        client_secret: 'gcs_…',
      },
    ],
  },
);
export type TokenRequest = Static<typeof TOKEN_REQUEST>;

export const TOKENS = Type.Object(
  {
    access_token: requiredText('Send it as `Authorization: Bearer …`. Expires after 1 hour.', 'gat_…'),
    token_type: Type.Literal('bearer', { description: 'The only type.' }),
    expires_in: Type.Integer({ description: 'Seconds until the access token expires.', examples: [3600] }),
    refresh_token: requiredText('Expires after 30 days, and is replaced whenever it is used.', 'grt_…'),
    scope: requiredText('The scopes that were granted, separated by single spaces.', 'read:invoices'),
  },
  { $id: 'Tokens', description: 'An access token and a refresh token, for both grant types.' },
);

const TOKEN_TYPE_HINT = optionalText('Accepted and ignored: the prefix of a token names its kind.', 'refresh_token');

export const REVOCATION_REQUEST = Type.Object(
  {
    token: requiredText(
      'An access token, which is revoked alone, or a refresh token, which revokes the whole grant.',
      'grt_…',
    ),
    token_type_hint: TOKEN_TYPE_HINT,
    ...CREDENTIALS,
  },
  { examples: [{ token: 'grt_…' }] },
);
export type RevocationRequest = Static<typeof REVOCATION_REQUEST>;

export const EMPTY = Type.Object({}, { description: 'An empty object.' });

export const INTROSPECTION_REQUEST = Type.Object(
  {
    token: requiredText('An access or a refresh token.', 'gat_…'),
    scope: optionalText(
      'From an app in `INTROSPECTION_CLIENTS`: the scope that the request needs. It is counted as used if the token has it.',
      'read:invoices',
    ),
    token_type_hint: TOKEN_TYPE_HINT,
    ...CREDENTIALS,
  },
  {
    examples: [{ token: 'gat_…', client_id: EXAMPLE_APP, client_secret: 'gcs_…' }],
  },
);
export type IntrospectionRequest = Static<typeof INTROSPECTION_REQUEST>;

const seconds = (description: string) => Type.Optional(Type.Integer({ description, examples: [1893459600] }));
const id = (description: string) => Type.Optional(Type.String({ format: 'uuid', description }));

export const INTROSPECTION = Type.Object(
  {
    active: Type.Boolean({ description: 'Whether the token works now. If not, there are no other fields.' }),
    scope: optionalText('The scopes, separated by single spaces.', 'read:invoices'),
    client_id: optionalText('The app that the token was issued to.', EXAMPLE_APP),
    token_type: Type.Optional(extensibleEnum(['bearer', 'refresh_token'], 'The kind of token.')),
    exp: seconds('When it expires, in seconds since 1970.'),
    iat: seconds('When it was issued, in seconds since 1970.'),
    grant_expires_at: seconds(
      'When the user’s permission ends, in seconds since 1970, if they allowed the app for a limited time. No token works after it.',
    ),
    sub: id('The user who allowed it.'),
    iss: optionalText('The issuer: `BASE_URL`.', 'https://api.example.com'),
    business_id: id('The business that it is for.'),
    connected_for: Type.Optional(
      extensibleEnum(['user', 'business'], '`business` if the connection outlives the membership of the user.'),
    ),
    aud: optionalText(
      'The resource that it works at, if that is not the business API: reject the token anywhere else (RFC 8707).',
      'https://api.example.com/mcp',
    ),
  },
  { $id: 'Introspection', description: 'RFC 7662 §2.2.' },
);

const list = (description: string) => Type.Array(Type.String(), { description });
const address = (description: string) => Type.String({ format: 'uri', description });

export const METADATA = Type.Object(
  {
    issuer: address('Equal to `iss` in every callback.'),
    authorization_endpoint: address('Where to redirect the user’s browser.'),
    token_endpoint: address('Where codes are exchanged and tokens refreshed.'),
    revocation_endpoint: address('Where tokens are revoked.'),
    introspection_endpoint: address('Where an app introspects its tokens.'),
    registration_endpoint: Type.Optional(address('Where apps register themselves, if the operator allows it.')),
    service_documentation: address('The API reference.'),
    scopes_supported: list('All scopes.'),
    ui_locales_supported: list('The languages of the pages.'),
    response_types_supported: list('Only `code`.'),
    response_modes_supported: list('Only `query`.'),
    grant_types_supported: list('`authorization_code` and `refresh_token`.'),
    token_endpoint_auth_methods_supported: list('Credentials in the body, or HTTP Basic; none for a public app.'),
    revocation_endpoint_auth_methods_supported: list('The same, or none: possession of the token is enough.'),
    introspection_endpoint_auth_methods_supported: list('Credentials in the body, or HTTP Basic.'),
    code_challenge_methods_supported: list('Only `S256`.'),
    authorization_response_iss_parameter_supported: Type.Boolean({ description: 'True (RFC 9207).' }),
    client_id_metadata_document_supported: Type.Optional(
      Type.Boolean({ description: 'True if the URL of a client metadata document is accepted as `client_id`.' }),
    ),
  },
  { $id: 'Metadata', description: 'RFC 8414 §2.' },
);

export const RESOURCE_METADATA = Type.Object(
  {
    resource: address('What to send as `resource`. A token for it works nowhere else.'),
    authorization_servers: list('The issuer of its tokens, whose metadata has the endpoints.'),
    scopes_supported: list('All scopes.'),
    bearer_methods_supported: list('Only `header`.'),
    resource_name: Type.String({ description: 'For people.' }),
    resource_documentation: address('The API reference.'),
  },
  { $id: 'ResourceMetadata', description: 'RFC 9728 §2.' },
);

export const AUTHORIZE_QUERY = Type.Object({
  response_type: Type.Literal('code', { description: 'The authorization code flow is the only one.' }),
  client_id: requiredText('The app.', EXAMPLE_APP),
  redirect_uri: Type.Optional(
    Type.String({
      format: 'uri',
      description:
        'Where the user is sent back to. It must equal a registered redirect URI, except for the port of `127.0.0.1` and ' +
        '`[::1]`. Required unless the app is registered with exactly one.',
      examples: ['https://app.example/callback'],
    }),
  ),
  scope: optionalText(
    `Names separated by spaces, all of them allowed for the app. The default is all scopes of the app. The names: ${SCOPES.map(({ name }) => `\`${name}\``).join(', ')}.`,
    'read:invoices',
  ),
  optional_scope: optionalText(
    'Scopes that the user may leave unticked, as in `scope`; a scope in both is optional. The `scope` of the token response ' +
      'lists what was granted.',
    'read:contacts',
  ),
  resource: optionalText(
    'Where the tokens will work (RFC 8707). The default is the business API; an MCP server is a resource of its own.',
  ),
  state: requiredText(
    'A new random value per request, by which your app recognises the response. It is returned byte for byte.',
    'aP3kW9xQ',
  ),
  prompt: Type.Optional(
    Type.Enum(['none', 'login'], {
      type: 'string',
      description: '`none` never shows a page; `login` requires a new sign-in even if there is a session.',
      examples: ['login'],
    }),
  ),
  ui_locales: optionalText(
    'The languages in which the pages should be, as tags (RFC 5646) separated by spaces, the preferred one first. If the pages ' +
      'are in none of them, the setting of the user decides, then their browser.',
    'de-AT de',
  ),
  response_mode: Type.Optional(Type.Literal('query', { description: 'The only mode: the response is in the query.' })),
  code_challenge: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]{43}$',
      description: 'PKCE: the base64url SHA-256 of the verifier. Required if the app requires PKCE.',
      // Of the verifier in the example of the exchange.
      examples: ['29QZ_wtMLeXlYUGTtvk9UpNVR-ov45hGtt48WtaupIU'],
    }),
  ),
  code_challenge_method: Type.Optional(Type.Literal('S256', { description: 'Required with a `code_challenge`.' })),
});
export type AuthorizeQuery = Static<typeof AUTHORIZE_QUERY>;
