import { Type } from 'typebox';
import { BODY_TOO_LARGE } from './body-parsers.ts';
import { type ErrorCode, errorUri, REASONS, type ReasonOf } from './errors.ts';

/** The errors of an operation under one status, each with its possible reasons. */
type ErrorReasons = { [Code in ErrorCode]?: readonly ReasonOf<Code>[] };

/** Reasons to reject a body of JSON or a form. */
export const BODY_REASONS = ['field_missing', 'field_repeated', 'field_not_text', 'body_malformed'] as const;

export const REQUEST_ID = Type.String({
  format: 'uuid',
  description: 'Identifies this request in the server’s logs. Quote it when you ask for help.',
});
/** A field that may be repeated: a JSON body has a list, a form has it several times. */
export const textOrTexts = (description: string, example: string) =>
  Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 20 })], { description, examples: [example] });

/** Headers of a response that must not be cached. */
export const NO_STORE = {
  'x-request-id': REQUEST_ID,
  'cache-control': Type.Literal('no-store', { description: 'The response must not be cached.' }),
};

export const RETRY_AFTER = Type.Integer({ description: 'How many seconds to wait before trying again.' });

/** Descriptions in the examples of the API reference, by reason. */
const EXAMPLE_DESCRIPTIONS: Record<string, string> = {
  app_paused: 'The platform has paused the app. It can read its events again once it is resumed.',
  access_token_expired: 'This access token has expired: it lasts one hour. Use the refresh token.',
  body_too_large: BODY_TOO_LARGE,
  business_id_malformed: 'Send the header x-business-id once, with the UUID of the business.',
  code_expired: 'This code has expired: codes last 10 minutes. Start again at the authorize endpoint.',
  content_type_unsupported: 'Send application/json or application/x-www-form-urlencoded.',
  credentials_wrong:
    "No app has this client_id and client_secret. Copy both from the app's page, or add a new secret there.",
  etag_mismatch: 'The record has changed since that ETag. Read it again, then repeat the change.',
  field_missing: 'token is missing.',
  fields_invalid: 'colour is not a field that can be sent here.',
  idempotency_key_reused: 'This Idempotency-Key was used for another request. Use a new one for each operation.',
  insufficient_scope:
    'This needs the scope read:invoices, which this token does not have. Request it at the authorize endpoint.',
  not_found: 'The business has no invoice with this id.',
  server_error: 'The server failed to handle the request. The error is in its log, under the x-request-id.',
  state_not_allowed: 'An invoice that is SENT cannot be updated. Possible now: pay, void.',
  temporarily_unavailable: 'The database is not available. Try again in a moment.',
  value_not_allowed: 'limit must be 1 to 200.',
  token_in_address: 'Send the access token in the Authorization header only, not in the address.',
  redirect_uri_invalid: 'redirect_uris has to be a list of one or more texts.',
  token_missing: 'Send the access token: Authorization: Bearer <access token>.',
  too_many_requests: 'Too many requests of this app. Try again in 12 seconds.',
};

/** What some errors have besides the four fields of all errors, by reason. */
const EXAMPLE_DETAILS: Record<string, object> = {
  fields_invalid: { errors: [{ field: 'colour', message: 'is not a field that can be sent here' }] },
  state_not_allowed: { state: 'SENT', allowed: ['pay', 'void'] },
};

/** Any error. Codes and reasons may be added, so each operation lists its own and this schema lists none. */
export const ERROR = Type.Object(
  {
    error: Type.String({ description: 'The error code that the standards define.' }),
    error_description: Type.String({ description: 'What went wrong, and what to do about it.' }),
    error_uri: Type.String({ format: 'uri', description: 'A page that explains the error, opened at its reason.' }),
    reason: Type.String({ description: 'The exact cause: a stable name for programs.' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          field: Type.String({ description: 'Where it is in the body.', examples: ['lines[0].quantity'] }),
          message: Type.String({ description: 'What is wrong with it.' }),
        }),
        {
          maxItems: 20,
          description: 'With the reason `fields_invalid`: every field that is wrong, or the first 20.',
        },
      ),
    ),
    state: Type.Optional(
      Type.String({ description: 'With the reason `state_not_allowed`: the state that the record is in.' }),
    ),
    allowed: Type.Optional(
      Type.Array(Type.String(), {
        description: 'With the reason `state_not_allowed`: the transitions that are possible.',
      }),
    ),
  },
  { $id: 'Error', description: 'Every error has the first four fields.' },
);

/** The response schema of one status with one or several errors. */
export function describeErrors(errors: ErrorReasons, headers: Record<string, object> = {}) {
  const codes = Object.keys(errors);
  const media = { schema: { $ref: 'Error#' }, example: exampleOf(errors), 'x-reasons': errors };
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    headers: { 'x-request-id': REQUEST_ID, ...headers },
    content: { 'application/json': media },
  };
}

/** Errors of every operation that uses the database. */
export const SERVER_ERRORS = {
  500: describeErrors({ server_error: REASONS.server_error }),
  503: describeErrors({ temporarily_unavailable: REASONS.temporarily_unavailable }, { 'retry-after': RETRY_AFTER }),
};

/** Errors of every operation with a rate limit. */
export const COMMON_ERRORS = {
  429: describeErrors({ too_many_requests: REASONS.too_many_requests }, { 'retry-after': RETRY_AFTER }),
  ...SERVER_ERRORS,
};

/** Errors of every operation with a body. */
export const COMMON_BODY_ERRORS = {
  413: describeErrors({ invalid_request: ['body_too_large'] }),
  415: describeErrors({ invalid_request: ['content_type_unsupported'] }),
  ...COMMON_ERRORS,
};

function exampleOf(errors: ErrorReasons) {
  const [[error = '', reasons = []] = []] = Object.entries(errors);
  const reason = reasons.find((name) => EXAMPLE_DESCRIPTIONS[name]) ?? '';
  return {
    error,
    error_description: EXAMPLE_DESCRIPTIONS[reason] ?? '',
    error_uri: errorUri('https://api.example.com', error, reason),
    reason,
    ...EXAMPLE_DETAILS[reason],
  };
}

/** Route options for a schema that documents the route only: the handler validates, with its own error messages. */
export function documentedBy(schema: object) {
  return { schema, validatorCompiler: () => () => true };
}
