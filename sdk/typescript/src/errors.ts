import type { ErrorCode } from './names.ts';

const LONGEST_TEXT = 500;
const LONGEST_URI = 2000;

/** What a `GatehouseError` is made of. */
export interface Failure {
  code: ErrorCode;
  description: string;
  status?: number | undefined;
  reason?: string | undefined;
  uri?: string | undefined;
  requestId?: string | undefined;
  retryAfter?: number | undefined;
  cause?: unknown;
}

/**
 * Gatehouse refused, or no answer could be had from it. `code` is for programs and `description` for people;
 * neither ever holds a secret.
 */
export class GatehouseError extends Error {
  static {
    GatehouseError.prototype.name = 'GatehouseError';
  }

  /** The HTTP status, or undefined if there was no answer. */
  readonly status: number | undefined;
  /**
   * The `error` of the answer, such as `invalid_grant`; or `timeout`, `network_error`, `unreadable_answer`,
   * `answer_too_large`, `state_mismatch`, `issuer_mismatch`, `webhook_rejected`.
   */
  readonly code: ErrorCode;
  /** A finer name than `code` where Gatehouse gave one, such as `disconnected_by_user`; otherwise the code. */
  readonly reason: string;
  /** A sentence that says what to do about it. */
  readonly description: string;
  /** The address of a page that explains the code. */
  readonly uri: string | undefined;
  /** How the operator of Gatehouse finds this request in the logs. */
  readonly requestId: string | undefined;
  /** After how many seconds to try again, if the answer said so. */
  readonly retryAfter: number | undefined;

  constructor(failure: Failure) {
    const { status, reason, uri, requestId, retryAfter, cause } = failure;
    const code = toLine(failure.code);
    const description = toLine(failure.description);
    const request = requestId && toLine(requestId);
    const message = description ? `${code}: ${description}` : code;
    super(`${message}${request ? ` (request ${request})` : ''}`, cause === undefined ? {} : { cause });
    this.status = status;
    this.code = code;
    this.reason = toLine(reason ?? code);
    this.description = description;
    this.uri = uri && toLine(uri, LONGEST_URI);
    this.requestId = request;
    this.retryAfter = retryAfter;
  }
}

/** Short and on one line: errors end up in logs and headers, where a line break would begin something new. */
export function toLine(text: string, longest = LONGEST_TEXT): string {
  // A character of two halves may have been cut in the middle; \p{Cs} is the half that is left.
  return text.slice(0, longest).replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ');
}
