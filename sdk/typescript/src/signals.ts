import { rejectArgument } from './arguments.ts';

/** Options of every call that sends something. */
export interface CallOptions {
  /** Ends the call when it is aborted, with the signal's own reason. */
  signal?: AbortSignal | undefined;
}

/** Not `instanceof`, since a signal may come from another realm or a polyfill. */
export function optionalSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined) return undefined;
  const { aborted, addEventListener } = Object(value);
  if (typeof aborted !== 'boolean' || typeof addEventListener !== 'function')
    rejectArgument('signal', 'an AbortSignal');
  return value as AbortSignal;
}

/** Settles like the promise, or rejects as soon as the signal is aborted. The work behind the promise continues. */
export async function abortable<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work;
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Aborted with the first of the two. `AbortSignal.any` would do, but is missing from Node 20.0 and older browsers. */
export function firstOf(timer: AbortSignal, given: AbortSignal | undefined) {
  const controller = new AbortController();
  const stop = () => controller.abort();
  for (const signal of [timer, given]) signal?.addEventListener('abort', stop);
  const release = () => {
    for (const signal of [timer, given]) signal?.removeEventListener('abort', stop);
  };
  return { signal: controller.signal, release };
}

export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return abortable(passed, signal).finally(() => clearTimeout(timer));
}
