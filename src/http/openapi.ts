import { Type } from 'typebox';
import { type ErrorCode, errorUri, REASONS, type ReasonOf } from './errors.ts';

/** The errors that an operation can give under one status, and under each the reasons that it can have there. */
type Refusals = { [Code in ErrorCode]?: readonly ReasonOf<Code>[] };

/** What can be wrong with a request whose body is JSON or a form. */
export const UNREADABLE_BODY = ['field_missing', 'field_repeated', 'field_not_text', 'body_malformed'] as const;

export const REQUEST_ID = Type.String({
  format: 'uuid',
  description: 'Names this request in the server’s logs. Quote it when you ask for help.',
});
/** Headers of an answer that no cache may keep. */
export const UNCACHED = {
  'x-request-id': REQUEST_ID,
  'cache-control': Type.Literal('no-store', { description: 'No cache may keep the answer.' }),
};

export const RETRY_AFTER = Type.Integer({ description: 'How many seconds to wait before trying again.' });

/** What is said, in the examples of the reference, for some of the reasons. */
const SENTENCES: Record<string, string> = {
  app_paused: 'The platform has paused the app. It can read its events again once it is resumed.',
  access_token_expired: 'This access token has expired: it lasts one hour. Use the refresh token.',
  body_too_large: 'The body is over 64 KiB.',
  business_id_malformed: 'Send the header x-business-id once, with the UUID of the business.',
  code_expired: 'This code has expired: codes last 10 minutes. Start again at the authorize endpoint.',
  content_type_unsupported: 'Send application/json or application/x-www-form-urlencoded.',
  credentials_wrong:
    "No app has this client_id and client_secret. Copy both from the app's page, or add a new secret there.",
  field_missing: 'token is missing.',
  insufficient_scope: 'This needs the scope read:invoices, which the user has not allowed for this token.',
  server_error: 'Something went wrong here. It has been logged; x-request-id names it.',
  temporarily_unavailable: 'The database is not available. Try again in a moment.',
  value_not_allowed: 'limit is 1 to 200.',
  token_in_address: 'Send the access token in the Authorization header only, not in the address.',
  token_missing: 'Send the access token: Authorization: Bearer <access token>.',
  too_many_requests: 'Too many attempts. Try again in 12 s.',
};

/** Any refusal. Its names are open: more may be added, so none are listed here but where they can occur. */
export const ERROR = Type.Object(
  {
    error: Type.String({ description: 'What kind of thing went wrong, in the words of the standards.' }),
    error_description: Type.String({ description: 'What it was this time, and what to do about it.' }),
    error_uri: Type.String({ format: 'uri', description: 'A page that explains the error, opened at its reason.' }),
    reason: Type.String({ description: 'Which thing went wrong: a stable name for programs.' }),
  },
  { $id: 'Error', description: 'Every refusal has these four fields.' },
);

/** How one or several errors are described, for the place of a status in a route's schema. */
export function describeRefusals(refusals: Refusals, headers: Record<string, object> = {}) {
  const codes = Object.keys(refusals);
  const media = { schema: { $ref: 'Error#' }, example: exampleOf(refusals), 'x-reasons': refusals };
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    headers: { 'x-request-id': REQUEST_ID, ...headers },
    content: { 'application/json': media },
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

function exampleOf(refusals: Refusals) {
  const [[error = '', reasons = []] = []] = Object.entries(refusals);
  const reason = reasons.find((name) => SENTENCES[name]) ?? '';
  return {
    error,
    error_description: SENTENCES[reason] ?? '',
    error_uri: errorUri('https://api.example.com', error, reason),
    reason,
  };
}

/** Route options for a schema that documents the route only: the handler validates, with its own error messages. */
export function documentedBy(schema: object) {
  return { schema, validatorCompiler: () => () => true };
}
