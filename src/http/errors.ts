/** Why a grant is inactive: `invalid_grant` at the token endpoint, `invalid_token` at the business API. */
const INACTIVE_REASONS = [
  'revoked_by_app',
  'disconnected_by_user',
  'disconnected_by_owner',
  'code_reused',
  'code_verifier_missing',
  'code_verifier_unexpected',
  'code_verifier_wrong',
  'refresh_token_reused',
  'app_deleted',
  'app_paused',
  'app_disabled',
  'app_closed',
  'app_tokens_ended',
  'connection_limit',
  'app_blocked',
  'user_disabled',
  'member_removed',
  'connections_ended',
  'password_reset',
  'backup_restored',
  'grant_expired',
] as const;

/**
 * Every error code of the API, with its reasons. The code is the name of the kind of error in the RFCs; the reason is
 * more specific. Both are part of the contract: add, never rename.
 */
export const REASONS = {
  invalid_request: [
    'field_missing',
    'field_repeated',
    'field_not_text',
    'value_not_allowed',
    'body_malformed',
    'body_too_large',
    'content_type_unsupported',
    'method_not_allowed',
    'request_unreadable',
    'credentials_sent_twice',
    'token_in_address',
    'business_id_malformed',
    'pkce_required',
    'pkce_malformed',
    'fields_invalid',
    'idempotency_key_malformed',
    'idempotency_key_reused',
    'if_match_malformed',
    'origin_not_allowed',
  ],
  invalid_client: ['credentials_missing', 'credentials_malformed', 'credentials_wrong', 'app_is_public'],
  invalid_grant: [
    'token_unknown',
    'token_of_another_kind',
    'token_of_another_app',
    'code_expired',
    'redirect_uri_different',
    'refresh_token_expired',
    ...INACTIVE_REASONS,
  ],
  unsupported_grant_type: ['unsupported_grant_type'],
  unsupported_response_type: ['unsupported_response_type'],
  invalid_scope: ['scope_unknown', 'scope_not_registered', 'scope_not_allowed'],
  invalid_target: ['resource_unknown', 'resource_repeated', 'resource_different'],
  invalid_redirect_uri: ['redirect_uri_invalid'],
  invalid_client_metadata: ['client_metadata_invalid'],
  access_denied: ['denied_by_user', 'not_a_member', 'approval_required', 'app_refused', 'app_blocked', 'role_required'],
  login_required: ['login_required'],
  consent_required: ['consent_required'],
  unauthorized_client: ['app_paused'],
  unauthorized: ['token_missing'],
  invalid_token: [
    'token_malformed',
    'token_unknown',
    'token_of_another_kind',
    'access_token_expired',
    'access_token_revoked',
    'token_for_other_resource',
    ...INACTIVE_REASONS,
  ],
  insufficient_scope: ['insufficient_scope'],
  business_mismatch: ['business_mismatch'],
  conflict: ['state_not_allowed'],
  precondition_failed: ['etag_mismatch'],
  not_found: ['not_found'],
  too_many_requests: ['too_many_requests'],
  temporarily_unavailable: ['temporarily_unavailable'],
  server_error: ['server_error'],
} as const;

export type InactiveReason = (typeof INACTIVE_REASONS)[number];

export type ErrorCode = keyof typeof REASONS;
export type ReasonOf<Code extends ErrorCode> = (typeof REASONS)[Code][number];

/** The page that explains an error, at the section of its reason. */
export function errorUri(issuer: string, code: string, reason: string): string {
  return `${issuer}/docs/errors/${code}#${reason}`;
}

interface ErrorDetails<Code extends ErrorCode> {
  status: number;
  code: Code;
  reason: ReasonOf<Code>;
  description: string;
  headers?: Record<string, string> | undefined;
  /** Further fields of the body. */
  details?: Record<string, unknown> | undefined;
}

/** An error that is reported to the program that sent the request. */
export class ApiError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly status: number;
  readonly code: Code;
  readonly reason: ReasonOf<Code>;
  readonly headers: Record<string, string>;
  readonly details: Record<string, unknown>;

  constructor({ status, code, reason, description, headers = {}, details = {} }: ErrorDetails<Code>) {
    super(description);
    this.status = status;
    this.code = code;
    this.reason = reason;
    this.headers = headers;
    this.details = details;
  }
}

export function nothingAtAddress(): ApiError {
  const description = 'There is nothing at this address.';
  return new ApiError({ status: 404, code: 'not_found', reason: 'not_found', description });
}

/** For a client that was given the address of the pages. */
export function apiElsewhere(issuer: string): ApiError {
  const description = `This host serves the pages for users. The API is at ${issuer}: use this as the base URL.`;
  return new ApiError({ status: 404, code: 'not_found', reason: 'not_found', description });
}

/** RFC 6749 §5.2 allows printable ASCII without quote and backslash. */
export function toErrorCharacters(text: string): string {
  return text.replaceAll('"', "'").replace(/[^\x20-\x5b\x5d-\x7e]/g, '?');
}
