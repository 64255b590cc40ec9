/** What a `GatehouseError` is made of. */
export interface Failure {
  code: string;
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
   * `answer_too_large`, `state_mismatch`, `issuer_mismatch`.
   */
  readonly code: string;
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
    const { code, description, status, reason, uri, requestId, retryAfter, cause } = failure;
    super(messageOf(failure), cause === undefined ? {} : { cause });
    this.status = status;
    this.code = code;
    this.reason = reason ?? code;
    this.description = description;
    this.uri = uri;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/** On one line: messages end up in logs, where a line break would begin a new entry. */
function messageOf({ code, description, requestId }: Failure): string {
  const message = description ? `${code}: ${description}` : code;
  return `${message}${requestId ? ` (request ${requestId})` : ''}`.replace(/\p{Cc}+/gu, ' ');
}
