import { Type } from 'typebox';
import { type ErrorCode, errorUri, REASONS, type ReasonOf } from './reasons.ts';

/** The errors that an operation can give under one status, and under each the reasons that it can have there. */
export type Refusals = { [Code in ErrorCode]?: readonly ReasonOf<Code>[] };

/** What can be wrong with a request whose body is JSON or a form. */
export const UNREADABLE_BODY = ['field_missing', 'field_repeated', 'field_not_text', 'body_malformed'] as const;

export const REQUEST_ID = Type.String({
  format: 'uuid',
  description: 'Names this request in the server’s logs. Quote it when you ask for help.',
});
const RETRY_AFTER = Type.Integer({ description: 'How many seconds to wait before trying again.' });

const EXAMPLES: { [Code in ErrorCode]?: [ReasonOf<Code>, string] } = {
  invalid_request: ['field_missing', 'code is missing.'],
  invalid_client: ['credentials_wrong', 'No app has this client_id and client_secret.'],
  invalid_grant: [
    'code_expired',
    'This code has expired: codes last 10 minutes. Start again at the authorize endpoint.',
  ],
  unauthorized: ['token_missing', 'Send the access token: Authorization: Bearer <access token>.'],
  invalid_token: ['access_token_expired', 'This access token has expired: it lasts one hour. Use the refresh token.'],
  insufficient_scope: ['insufficient_scope', 'This needs the scope read:invoices.'],
  too_many_requests: ['too_many_requests', 'Too many attempts. Try again in 12 s.'],
  server_error: ['server_error', 'Something went wrong here. It has been logged; x-request-id names it.'],
  temporarily_unavailable: ['temporarily_unavailable', 'The database is not available. Try again in a moment.'],
};

/** How one or several errors are described, for the place of a status in a route's schema. */
export function describeRefusals(refusals: Refusals, headers: Record<string, object> = {}) {
  const codes = Object.keys(refusals) as ErrorCode[];
  const reasons = [...new Set(Object.values(refusals).flat())];
  const schema = Type.Object({
    error: Type.Enum(codes, { description: 'What kind of thing went wrong, in the words of the standards.' }),
    error_description: Type.String({ description: 'What it was this time, and what to do about it.' }),
    error_uri: Type.String({ format: 'uri', description: 'A page that explains the error, opened at its reason.' }),
    reason: Type.Enum(reasons, { description: 'Which thing went wrong: a stable name for programs.' }),
  });
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    headers: { 'x-request-id': REQUEST_ID, ...headers },
    content: { 'application/json': { schema, example: exampleOf(codes[0] ?? 'server_error') } },
  };
}

/** What any operation that asks the database can answer. */
export const BROKEN = {
  500: describeRefusals({ server_error: REASONS.server_error }),
  503: describeRefusals({ temporarily_unavailable: REASONS.temporarily_unavailable }, { 'retry-after': RETRY_AFTER }),
};

/** What any operation that is counted can answer besides. */
export const ANYWHERE = {
  429: describeRefusals({ too_many_requests: REASONS.too_many_requests }, { 'retry-after': RETRY_AFTER }),
  ...BROKEN,
};

/** What any operation with a body can answer besides. */
export const ANYWHERE_WITH_A_BODY = {
  413: describeRefusals({ invalid_request: ['body_too_large'] }),
  415: describeRefusals({ invalid_request: ['content_type_unsupported'] }),
  ...ANYWHERE,
};

function exampleOf(error: ErrorCode) {
  const [reason, description] = EXAMPLES[error] ?? [REASONS[error][0], ''];
  return {
    error,
    error_description: description,
    error_uri: errorUri('https://api.example.com', error, reason),
    reason,
  };
}
