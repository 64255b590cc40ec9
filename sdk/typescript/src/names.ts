/** A name that a newer Gatehouse may add. Written so that editors still suggest the known ones. */
export type OtherName = string & Record<never, never>;

/** The scopes that this version of the library knows. */
export const SCOPES = [
  'read:invoices',
  'write:invoices',
  'read:contacts',
  'write:contacts',
  'read:deals',
  'write:deals',
  'read:expenses',
  'read:reports',
  'read:employees',
  'read:orders',
] as const;

/** The scopes that an app can request. For one that a newer Gatehouse has, write `'read:stock' as Scope`. */
export type Scope = (typeof SCOPES)[number];

/** The error codes that this version of the library knows. */
export const ERROR_CODES = [
  // From Gatehouse: the `error` of a response or of a callback.
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
  'invalid_scope',
  'invalid_target',
  'invalid_redirect_uri',
  'invalid_client_metadata',
  'access_denied',
  'login_required',
  'consent_required',
  'unauthorized',
  'invalid_token',
  'insufficient_scope',
  'business_mismatch',
  'conflict',
  'precondition_failed',
  'not_found',
  'too_many_requests',
  'temporarily_unavailable',
  'server_error',
  // From this library.
  'timeout',
  'network_error',
  'invalid_response',
  'response_too_large',
  'state_mismatch',
  'issuer_mismatch',
  'webhook_rejected',
] as const;

/** The `code` of a `GatehouseError`. More may be added. */
export type ErrorCode = (typeof ERROR_CODES)[number] | OtherName;
