import { channel } from 'node:diagnostics_channel';
import { type Clock, systemClock } from '../lib/clock.ts';
import { ForbiddenAddress, postToPublicAddress } from '../lib/outbound-http.ts';
import type { Outcome } from './deliveries.ts';
import type { ClaimedEndpoint } from './queue.ts';
import { headersOf, type Message, signatureOf } from './signatures.ts';

interface SendOptions {
  allowsLoopback: boolean;
  /** The timeout, in milliseconds. */
  timeLimit: number;
  clock: Clock;
}

/** One attempt. Only a 2xx status is a success. */
export async function sendMessage(
  endpoint: ClaimedEndpoint,
  message: Message,
  { allowsLoopback, timeLimit, clock }: SendOptions,
): Promise<Outcome> {
  if (endpoint.secrets.length === 0) return { outcome: 'unsigned', status: null, head: '', took: 0 };
  const began = systemClock();
  const took = () => systemClock() - began;
  const signed = signatureOf(message, endpoint.secrets, clock());
  const headers = headersOf(message.id, signed);
  try {
    const post = { url: endpoint.url, headers, body: message.body, timeout: timeLimit, allowsLoopback };
    const { status, head } = await postToPublicAddress(post);
    const outcome = status >= 200 && status < 300 ? 'delivered' : 'refused';
    return { outcome, status, head, took: took(), signed };
  } catch (error) {
    const outcome = nameOf(error);
    return {
      outcome,
      status: null,
      head: '',
      took: took(),
      signed: outcome === 'address_refused' ? undefined : signed,
    };
  }
}

function nameOf(error: unknown): Outcome['outcome'] {
  if (error instanceof ForbiddenAddress) return 'address_refused';
  return error instanceof Error && error.name === 'TimeoutError' ? 'timeout' : 'unreachable';
}

/** For metrics and traces. Only the host of the URL, since its path may be a secret. */
export interface ObservedAttempt extends Pick<Outcome, 'outcome' | 'status' | 'took'> {
  host: string;
}

const attempts = channel('gatehouse.attempt');

export function onAttempt(observe: (attempt: ObservedAttempt) => void): () => void {
  const listener = (message: unknown) => observe(message as ObservedAttempt);
  attempts.subscribe(listener);
  return () => attempts.unsubscribe(listener);
}

export function publishAttempt(url: string, { outcome, status, took }: Outcome): void {
  if (attempts.hasSubscribers) attempts.publish({ host: new URL(url).hostname, outcome, status, took });
}
