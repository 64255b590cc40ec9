import { GatehouseError } from './errors.ts';
import { type ApiResponse, type Connection, type Request, sendOnce } from './requests.ts';
import { pause } from './signals.ts';

/** When a request may be sent again. */
interface Repeating {
  isSafeAfter(error: GatehouseError): boolean;
  /** The longest that one attempt may take. */
  attempt: number;
  /** How long after the first attempt another may still begin. */
  within: number;
}

/** For idempotent requests. */
export const FREELY: Repeating = {
  isSafeAfter: isPassing,
  attempt: Number.POSITIVE_INFINITY,
  within: Number.POSITIVE_INFINITY,
};

/** A refresh that is repeated within 30 s gets the same pair, even if another worker uses the pair meanwhile. */
export const SOON: Repeating = { isSafeAfter: isPassing, attempt: 8_000, within: 20_000 };

/** A code that arrives twice revokes its grant. A 429 means that it was not processed. */
export const IF_UNSEEN: Repeating = { ...FREELY, isSafeAfter: ({ status }) => status === 429 };

const MOST_ATTEMPTS = 3;
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 30_000;

/** Sends a request, and again after a temporary failure. */
export async function send(connection: Connection, request: Request, repeating: Repeating): Promise<ApiResponse> {
  const patient = { ...connection, timeout: Math.min(connection.timeout, repeating.attempt) };
  const begun = Date.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendOnce(patient, request);
    } catch (error) {
      const mayRepeat = error instanceof GatehouseError && repeating.isSafeAfter(error) && attempt < MOST_ATTEMPTS;
      if (!mayRepeat) throw error;
      const wait = pauseAfter(error, attempt);
      const latest = begun + repeating.within - wait;
      if (wait > LONGEST_PAUSE || Date.now() > latest) throw error;
      await pause(wait, request.signal);
      // A machine that was suspended meanwhile wakes up much later.
      if (Date.now() > begun + repeating.within) throw error;
    }
  }
}

function isPassing({ status, code }: GatehouseError): boolean {
  if (status === undefined) return code === 'network_error' || code === 'timeout';
  return [429, 502, 503, 504].includes(status);
}

/** Jitter: clients that failed together do not retry together. */
function pauseAfter({ retryAfter }: GatehouseError, attempt: number): number {
  if (retryAfter !== undefined) return retryAfter * 1000;
  return FIRST_PAUSE * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
}
