import { ApiError, TooManyRequests } from '../lib/errors.ts';
import { StorageUnavailable } from '../storage/errors.ts';
import { AppNotAuthenticated, inErrorCharacters, OAuthError } from './errors.ts';

/** What goes back to a program that was refused. */
export interface ErrorAnswer {
  status: number;
  headers: Record<string, string>;
  body: { error: string; error_description: string; error_uri: string };
}

/** How a refusal reads to a program. Anything that is not a refusal is a bug, and says nothing. */
export function answerError(error: unknown, issuer: string): ErrorAnswer {
  const { status, code, description, headers = {} } = describe(error);
  return {
    status,
    headers: { 'cache-control': 'no-store', pragma: 'no-cache', ...headers },
    body: {
      error: code,
      error_description: inErrorCharacters(description),
      error_uri: `${issuer}/docs/errors/${code}`,
    },
  };
}

interface Description {
  status: number;
  code: string;
  description: string;
  headers?: Record<string, string>;
}

function describe(error: unknown): Description {
  if (error instanceof AppNotAuthenticated) {
    const answer = { status: 401, code: error.code, description: error.message };
    return error.usedBasic ? { ...answer, headers: { 'www-authenticate': 'Basic realm="Gatehouse"' } } : answer;
  }
  if (error instanceof OAuthError) return { status: 400, code: error.code, description: error.message };
  if (error instanceof ApiError) {
    const answer = { status: error.status, code: error.code, description: error.message };
    return error.challenge ? { ...answer, headers: { 'www-authenticate': bearerChallenge(error.challenge) } } : answer;
  }
  if (error instanceof TooManyRequests) {
    const headers = { 'retry-after': String(error.retryAfter) };
    return { status: 429, code: 'too_many_requests', description: error.message, headers };
  }
  if (error instanceof StorageUnavailable) {
    const description = 'The database is not available. Try again in a moment.';
    return { status: 503, code: 'temporarily_unavailable', description, headers: { 'retry-after': '1' } };
  }
  return describeUnreadable(error);
}

/** What the HTTP layer refuses before any of our code sees it. */
function describeUnreadable(error: unknown): Description {
  const { statusCode = 500, validation } = error as { statusCode?: number; validation?: { instancePath: string }[] };
  if (validation) {
    const field = validation[0]?.instancePath.slice(1).replaceAll('/', '.');
    const description = field
      ? `${field.slice(0, 64)} must be text, sent once.`
      : 'Send the fields, as one JSON object or as a form.';
    return { status: 400, code: 'invalid_request', description };
  }
  if (statusCode === 413) return { status: 413, code: 'invalid_request', description: 'The body is over 64 KiB.' };
  if (statusCode === 415) {
    const description = 'Send application/json or application/x-www-form-urlencoded.';
    return { status: 415, code: 'invalid_request', description };
  }
  if (error instanceof SyntaxError) {
    return { status: 400, code: 'invalid_request', description: 'The body is not valid JSON.' };
  }
  if (statusCode < 500)
    return { status: statusCode, code: 'invalid_request', description: 'The request cannot be read.' };
  return { status: 500, code: 'server_error', description: 'Something went wrong here. It has been logged.' };
}

/** RFC 6750 §3. With no parameters it is bare: nothing was presented, so nothing was wrong with it. */
function bearerChallenge(parameters: Record<string, string>): string {
  const list = Object.entries(parameters).map(([name, value]) => `${name}="${inErrorCharacters(value)}"`);
  return ['Bearer', list.join(', ')].join(' ').trim();
}
