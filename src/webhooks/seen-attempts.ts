import { channel } from 'node:diagnostics_channel';
import type { Outcome } from './deliveries.ts';

/** One attempt to tell an endpoint of something; of its address the host alone, since the rest may be a secret. */
export interface SeenAttempt extends Pick<Outcome, 'outcome' | 'status' | 'took'> {
  host: string;
}

const attempts = channel('gatehouse.attempt');

export function watchAttempts(see: (attempt: SeenAttempt) => void): () => void {
  const listener = (message: unknown) => see(message as SeenAttempt);
  attempts.subscribe(listener);
  return () => attempts.unsubscribe(listener);
}

export function showAttempt(url: string, { outcome, status, took }: Outcome): void {
  if (attempts.hasSubscribers) attempts.publish({ host: new URL(url).hostname, outcome, status, took });
}
