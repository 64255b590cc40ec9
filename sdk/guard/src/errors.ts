/** The body of every error: the same four fields as Gatehouse's own. */
export interface ErrorBody {
  error: string;
  error_description: string;
  error_uri: string;
  reason: string;
}

/** A rejected request, with the complete response that Gatehouse would send. */
export class GuardError extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: ErrorBody;

  constructor(status: number, headers: Record<string, string>, body: ErrorBody) {
    super(body.error_description);
    this.name = 'GuardError';
    this.status = status;
    this.headers = { 'cache-control': 'no-store', pragma: 'no-cache', ...headers };
    this.body = body;
  }
}

interface Details {
  status: number;
  error: string;
  reason: string;
  description: string;
  headers?: Record<string, string>;
}

export type Reject = (details: Details) => GuardError;

/** Creates the errors of one call, which needs this scope. */
export interface Rejection {
  reject: Reject;
  /** The parameters that every challenge has: where the metadata of the API is (RFC 9728 §5.1), and the scope of the call. */
  target: { resource_metadata: string; scope: string };
}

export function rejectionFor(issuer: string, scope: string): Rejection {
  const reject: Reject = ({ status, error, reason, description, headers = {} }) =>
    new GuardError(status, headers, {
      error,
      error_description: description,
      error_uri: `${issuer}/docs/errors/${error}#${reason}`,
      reason,
    });
  const resource_metadata = `${issuer}/.well-known/oauth-protected-resource/api/v1`;
  return { reject, target: { resource_metadata, scope } };
}

/** RFC 6750 §3: without an error if the request had no token. */
export function challenge(parameters: Record<string, string>): Record<string, string> {
  const list = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
  return { 'www-authenticate': `Bearer ${list.join(', ')}` };
}

export function invalidToken({ reject, target }: Rejection, reason: string, description: string): GuardError {
  const error = 'invalid_token';
  const headers = challenge({ error, error_description: description, ...target });
  return reject({ status: 401, error, reason, description, headers });
}

const UNAVAILABLE = 'The access token cannot be checked just now. Try again in a moment.';

export function unavailable({ reject }: Rejection, retryAfter: string): GuardError {
  const error = 'temporarily_unavailable';
  const headers = { 'retry-after': retryAfter };
  return reject({ status: 503, error, reason: error, description: UNAVAILABLE, headers });
}

/** The API requires a scope that does not exist. */
export function misconfigured({ reject }: Rejection): GuardError {
  const error = 'server_error';
  const description = 'This API is not set up correctly. Its operator finds the reason in its log.';
  return reject({ status: 500, error, reason: error, description });
}
