import { type Static, Type } from 'typebox';
import { SCOPES } from '../oauth/scopes.ts';

// What goes over the wire. The same schema refuses a field of the wrong type, is the only source of the names that the
// endpoints can read, says what leaves the server, and becomes the API reference.

const textField = (description: string, example?: string, limits: { minLength?: number } = {}) =>
  Type.String({ description, ...(example !== undefined && { examples: [example] }), ...limits });
/** Required, and an empty field counts as absent. */
const requiredText = (description: string, example?: string) => textField(description, example, { minLength: 1 });
/** One of a few words. It says that it is text, for those who generate clients. */
export const oneOf = <const Words extends string[]>(words: Words, description: string) =>
  Type.Enum(words, { type: 'string', description });

/** One of these words in a response. More may be added, so it is no `enum`, which a generated client would enforce. */
export const oneOfOpen = <const Words extends string[]>(words: Words, description: string) =>
  Type.Unsafe<Words[number]>({ type: 'string', 'x-extensible-enum': words, description });

const optionalText = (description: string, example?: string) => Type.Optional(textField(description, example));

/** Every field is text, sent once: a list, a number or null is refused before anything looks at it. Unknown names pass. */
const TEXT_ONLY = { additionalProperties: Type.String() };

export const EXAMPLE_APP = '0190b9a1-7d4c-7c5e-9a51-3c2f6f0e8d10';

const CREDENTIALS = {
  client_id: optionalText('The app. Left out where HTTP Basic carries it.', EXAMPLE_APP),
  client_secret: optionalText('One of the app’s secrets. Left out where HTTP Basic carries it.', 'gcs_…'),
};

export const TOKEN_REQUEST = Type.Object(
  {
    grant_type: requiredText(
      '`authorization_code` to exchange a code, `refresh_token` to refresh.',
      'authorization_code',
    ),
    ...CREDENTIALS,
    code: optionalText('To exchange: the code from the callback. It lives 10 minutes and works once.', 'gac_…'),
    redirect_uri: optionalText(
      'To exchange: exactly as in the authorize request. Left out only if it was left out there.',
      'https://app.example/callback',
    ),
    code_verifier: optionalText('To exchange: required if, and only if, the authorize request had a `code_challenge`.'),
    refresh_token: optionalText('To refresh: the newest refresh token.', 'grt_…'),
    scope: optionalText('To refresh: fewer scopes for this one access token, never more.', 'read:invoices'),
  },
  {
    ...TEXT_ONLY,
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
    access_token: requiredText('Goes into `Authorization: Bearer …`. Lives 1 hour.', 'gat_…'),
    token_type: Type.Literal('bearer', { description: 'Always the same.' }),
    expires_in: Type.Integer({ description: 'Seconds until the access token expires.', examples: [3600] }),
    refresh_token: requiredText('Lives 30 days, and is replaced whenever it is used.', 'grt_…'),
    scope: requiredText('The scopes that were granted, separated by single spaces.', 'read:invoices'),
  },
  { $id: 'Tokens', description: 'The pair of an access token and a refresh token, for both grant types.' },
);

const TOKEN_TYPE_HINT = optionalText('Accepted and not needed: a token says what it is.', 'refresh_token');

export const REVOCATION_REQUEST = Type.Object(
  {
    token: requiredText('An access token, which ends alone, or a refresh token, which ends the whole grant.', 'grt_…'),
    token_type_hint: TOKEN_TYPE_HINT,
    ...CREDENTIALS,
  },
  { ...TEXT_ONLY, examples: [{ token: 'grt_…' }] },
);
export type RevocationRequest = Static<typeof REVOCATION_REQUEST>;

export const EMPTY = Type.Object({}, { description: 'An empty object.' });

export const INTROSPECTION_REQUEST = Type.Object(
  { token: requiredText('An access or a refresh token.', 'gat_…'), token_type_hint: TOKEN_TYPE_HINT, ...CREDENTIALS },
  {
    ...TEXT_ONLY,
    examples: [{ token: 'gat_…', client_id: EXAMPLE_APP, client_secret: 'gcs_…' }],
  },
);
export type IntrospectionRequest = Static<typeof INTROSPECTION_REQUEST>;

const seconds = (description: string) => Type.Optional(Type.Integer({ description, examples: [1893459600] }));
const id = (description: string) => Type.Optional(Type.String({ format: 'uuid', description }));

export const INTROSPECTION = Type.Object(
  {
    active: Type.Boolean({ description: 'Whether the token works at this moment. If not, nothing else is said.' }),
    scope: optionalText('The scopes, separated by single spaces.', 'read:invoices'),
    client_id: id('The app that holds the token.'),
    token_type: Type.Optional(oneOfOpen(['bearer', 'refresh_token'], 'Which kind of token it is.')),
    exp: seconds('When it expires, in seconds since 1970.'),
    iat: seconds('When it was issued, in seconds since 1970.'),
    sub: id('The user who allowed it.'),
    iss: optionalText('Who issued it: `BASE_URL`.', 'https://api.example.com'),
    business_id: id('The one business that it acts in.'),
  },
  { $id: 'Introspection', description: 'RFC 7662 §2.2.' },
);

const list = (description: string) => Type.Array(Type.String(), { description });
const address = (description: string) => Type.String({ format: 'uri', description });

export const METADATA = Type.Object(
  {
    issuer: address('Equal to `iss` in every callback.'),
    authorization_endpoint: address('Where the user’s browser starts.'),
    token_endpoint: address('Where codes are exchanged and tokens refreshed.'),
    revocation_endpoint: address('Where tokens are ended.'),
    introspection_endpoint: address('Where an app asks about its tokens.'),
    service_documentation: address('The reference that you are reading.'),
    scopes_supported: list('Every scope there is.'),
    response_types_supported: list('`code` alone.'),
    response_modes_supported: list('`query` alone.'),
    grant_types_supported: list('`authorization_code` and `refresh_token`.'),
    token_endpoint_auth_methods_supported: list('Credentials in the body, or HTTP Basic.'),
    revocation_endpoint_auth_methods_supported: list('The same, or none at all: holding the token is proof.'),
    introspection_endpoint_auth_methods_supported: list('Credentials in the body, or HTTP Basic.'),
    code_challenge_methods_supported: list('`S256` alone.'),
    authorization_response_iss_parameter_supported: Type.Boolean({ description: 'True (RFC 9207).' }),
  },
  { $id: 'Metadata', description: 'RFC 8414 §2.' },
);

export const AUTHORIZE_QUERY = Type.Object({
  response_type: Type.Literal('code', { description: 'The authorization code flow is the only one.' }),
  client_id: requiredText('The app.', EXAMPLE_APP),
  redirect_uri: Type.Optional(
    Type.String({
      format: 'uri',
      description:
        'Where the user comes back to: a registered address, to the letter; only the port of `127.0.0.1` and `[::1]` may ' +
        'differ. Required unless the app has exactly one.',
      examples: ['https://app.example/callback'],
    }),
  ),
  scope: optionalText(
    `Names separated by spaces, all of them allowed for the app. Without it, all that the app is allowed. The names: ${SCOPES.map(({ name }) => `\`${name}\``).join(', ')}.`,
    'read:invoices',
  ),
  optional_scope: optionalText(
    'Names like those of `scope`, which the user may leave unticked; a name in both is optional too. What was granted stands ' +
      'in the `scope` of the token response.',
    'read:contacts',
  ),
  state: requiredText(
    'Random, and new each time: how your app knows its own request. It comes back byte for byte.',
    'aP3kW9xQ',
  ),
  prompt: Type.Optional(
    oneOf(['none', 'login'], '`none` never shows a page; `login` asks for the password even if there is a session.'),
  ),
  response_mode: Type.Optional(Type.Literal('query', { description: 'The only mode: the response is in the query.' })),
  code_challenge: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]{43}$',
      description: 'PKCE: the base64url SHA-256 of the verifier. Required if the app requires PKCE.',
    }),
  ),
  code_challenge_method: Type.Optional(Type.Literal('S256', { description: 'Required beside a `code_challenge`.' })),
});
export type AuthorizeQuery = Static<typeof AUTHORIZE_QUERY>;
