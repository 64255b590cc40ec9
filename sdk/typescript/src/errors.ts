import type { ErrorCode } from './names.ts';

const MAX_TEXT = 500;
const MAX_URI = 2000;

/** What is wrong with one field of a request. */
export interface FieldError {
  /** Such as `lines[0].quantity`. */
  field: string;
  message: string;
}

/** The fields of a `GatehouseError`. */
export interface Failure {
  code: ErrorCode;
  description: string;
  status?: number | undefined;
  reason?: string | undefined;
  uri?: string | undefined;
  requestId?: string | undefined;
  retryAfter?: number | undefined;
  errors?: readonly FieldError[] | undefined;
  state?: string | undefined;
  allowed?: readonly string[] | undefined;
  cause?: unknown;
}

/**
 * Gatehouse rejected the request, or there was no usable response. `code` is for programs and `description` for people;
 * neither contains a secret.
 */
export class GatehouseError extends Error {
  static {
    GatehouseError.prototype.name = 'GatehouseError';
  }

  /** The HTTP status, or undefined if there was no response. */
  readonly status: number | undefined;
  /**
   * The `error` of the response, such as `invalid_grant`; or `timeout`, `network_error`, `invalid_response`,
   * `response_too_large`, `state_mismatch`, `issuer_mismatch`, `webhook_rejected`.
   */
  readonly code: ErrorCode;
  /** More specific than `code` if Gatehouse sent one, such as `disconnected_by_user`; otherwise the code. */
  readonly reason: string;
  /** A sentence that says what to do about it. */
  readonly description: string;
  /** The URL of a page that explains the code. */
  readonly uri: string | undefined;
  /** Identifies this request in the logs of Gatehouse. */
  readonly requestId: string | undefined;
  /** After how many seconds to try again, if the response said so. */
  readonly retryAfter: number | undefined;
  /** Every wrong field, if the reason is `fields_invalid`; otherwise empty. */
  readonly errors: readonly FieldError[];
  /** The state of the record, if the code is `conflict`. */
  readonly state: string | undefined;
  /** The transitions that are possible instead, if the code is `conflict`. */
  readonly allowed: readonly string[] | undefined;

  constructor(failure: Failure) {
    const { status, reason, uri, requestId, retryAfter, errors = [], state, allowed, cause } = failure;
    const code = toLine(failure.code);
    const description = toLine(failure.description);
    const request = requestId && toLine(requestId);
    const message = description ? `${code}: ${description}` : code;
    super(`${message}${request ? ` (request ${request})` : ''}`, cause === undefined ? {} : { cause });
    this.status = status;
    this.code = code;
    this.reason = toLine(reason ?? code);
    this.description = description;
    this.uri = uri && toLine(uri, MAX_URI);
    this.requestId = request;
    this.retryAfter = retryAfter;
    this.errors = errors.map(({ field, message }) => ({ field: toLine(field), message: toLine(message) }));
    this.state = state && toLine(state);
    this.allowed = allowed?.map((name) => toLine(name));
  }
}

/** Short and on one line: errors end up in logs and headers, where a line break would start a new entry. */
export function toLine(text: string, maxLength = MAX_TEXT): string {
  // A surrogate pair may have been cut in the middle; \p{Cs} matches the half that is left.
  return text.slice(0, maxLength).replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ');
}
