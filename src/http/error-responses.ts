import { Overloaded, TooManyRequests } from '../lib/errors.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import { ApiError, type ErrorCode, errorUri, type ReasonOf, toErrorCharacters } from './errors.ts';

/** What goes back to a program that was refused. */
interface ErrorAnswer {
  status: number;
  headers: Record<string, string>;
  body: { error: string; error_description: string; error_uri: string; reason: string };
}

/** How a refusal reads to a program. Anything that is not a refusal is a bug, and says nothing. */
export function answerError(error: unknown, issuer: string): ErrorAnswer {
  const { status, code, reason, description, headers = {} } = describe(error);
  return {
    status,
    headers: { 'cache-control': 'no-store', pragma: 'no-cache', ...headers },
    body: {
      error: code,
      error_description: toErrorCharacters(description),
      error_uri: errorUri(issuer, code, reason),
      reason,
    },
  };
}

interface Description {
  status: number;
  code: ErrorCode;
  reason: ReasonOf<ErrorCode>;
  description: string;
  headers?: Record<string, string>;
}

function describe(error: unknown): Description {
  if (error instanceof ApiError) {
    const { status, code, reason, message: description, headers } = error;
    return { status, code, reason, description, headers };
  }
  if (error instanceof TooManyRequests) {
    const code = 'too_many_requests';
    const headers = { 'retry-after': String(error.retryAfter) };
    return { status: 429, code, reason: code, description: error.message, headers };
  }
  if (error instanceof StorageUnavailable || error instanceof Overloaded) {
    const code = 'temporarily_unavailable';
    const isBusy = error instanceof Overloaded;
    const description = isBusy ? error.message : 'The database is not available. Try again in a moment.';
    return { status: 503, code, reason: code, description, headers: { 'retry-after': '1' } };
  }
  return describeUnreadable(error);
}

/** What the schema of a body did not accept. */
interface Violation {
  instancePath: string;
  keyword?: string;
  params?: { missingProperty?: string };
}

/** What the HTTP layer refuses before any of our code sees it. */
function describeUnreadable(error: unknown): Description {
  const { statusCode = 500, validation } = error as { statusCode?: number; validation?: Violation[] };
  if (statusCode >= 500 && !validation) {
    const description = 'Something went wrong here. It has been logged; x-request-id names it.';
    return { status: 500, code: 'server_error', reason: 'server_error', description };
  }
  return { code: 'invalid_request', ...describeUnreadableRequest(error, statusCode, validation) };
}

function describeUnreadableRequest(error: unknown, status: number, validation?: Violation[]) {
  if (validation) {
    const { keyword, params } = validation[0] ?? {};
    if (keyword === 'required') {
      return { status: 400, reason: 'field_missing', description: `${params?.missingProperty} is missing.` } as const;
    }
    const field = validation[0]?.instancePath.slice(1).replaceAll('/', '.').slice(0, 64);
    if (keyword === 'minLength') {
      return { status: 400, reason: 'field_missing', description: `${field} is missing.` } as const;
    }
    if (field)
      return { status: 400, reason: 'field_not_text', description: `${field} must be text, sent once.` } as const;
    const description = 'Send the fields, as one JSON object or as a form.';
    return { status: 400, reason: 'body_malformed', description } as const;
  }
  if (status === 413) return { status, reason: 'body_too_large', description: 'The body is over 64 KiB.' } as const;
  if (status === 415) {
    const description = 'Send application/json or application/x-www-form-urlencoded.';
    return { status, reason: 'content_type_unsupported', description } as const;
  }
  if (isUnreadableBody(error)) {
    return { status: 400, reason: 'body_malformed', description: 'The body is not valid JSON.' } as const;
  }
  return { status, reason: 'request_unreadable', description: 'The request cannot be read.' } as const;
}

/** Fastify names its errors; these are the ones about what stands in a body. */
function isUnreadableBody(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('FST_ERR_CTP_');
}
