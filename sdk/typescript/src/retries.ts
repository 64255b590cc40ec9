import { GatehouseError } from './errors.ts';
import { type ApiResponse, type Connection, type Request, sendOnce } from './requests.ts';
import { pause } from './signals.ts';

/** When a request is sent again. */
interface RetryPolicy {
  isRetryable(error: GatehouseError): boolean;
  /** The maximum timeout of one attempt, in milliseconds. */
  attemptTimeout: number;
  /** How long after the first attempt the last one may start, in milliseconds. */
  startWithin: number;
}

/** For idempotent requests. */
export const IDEMPOTENT: RetryPolicy = {
  isRetryable: isTemporary,
  attemptTimeout: Number.POSITIVE_INFINITY,
  startWithin: Number.POSITIVE_INFINITY,
};

/** A refresh that is repeated within 30 s gets the same pair, even if another worker uses the pair meanwhile. */
export const REFRESH: RetryPolicy = { isRetryable: isTemporary, attemptTimeout: 8_000, startWithin: 20_000 };

/** A code that arrives twice revokes its grant. A 429 means that it was not processed. */
export const EXCHANGE: RetryPolicy = { ...IDEMPOTENT, isRetryable: ({ status }) => status === 429 };

const MAX_ATTEMPTS = 3;
const FIRST_PAUSE = 250;
const MAX_PAUSE = 30_000;

/** Sends a request, and again after a temporary failure. */
export async function send(connection: Connection, request: Request, policy: RetryPolicy): Promise<ApiResponse> {
  const limited = { ...connection, timeout: Math.min(connection.timeout, policy.attemptTimeout) };
  const startedAt = Date.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendOnce(limited, request);
    } catch (error) {
      const canRetry = error instanceof GatehouseError && policy.isRetryable(error) && attempt < MAX_ATTEMPTS;
      if (!canRetry) throw error;
      const wait = pauseAfter(error, attempt);
      const latest = startedAt + policy.startWithin - wait;
      if (wait > MAX_PAUSE || Date.now() > latest) throw error;
      await pause(wait, request.signal);
      // A machine that was suspended meanwhile wakes up much later.
      if (Date.now() > startedAt + policy.startWithin) throw error;
    }
  }
}

function isTemporary({ status, code }: GatehouseError): boolean {
  if (status === undefined) return code === 'network_error' || code === 'timeout';
  return [408, 429, 502, 503, 504].includes(status);
}

/** Jitter: clients that failed together do not retry together. */
function pauseAfter({ retryAfter }: GatehouseError, attempt: number): number {
  if (retryAfter !== undefined) return retryAfter * 1000;
  return FIRST_PAUSE * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
}
