import { STATUS_CODES } from 'node:http';
import { type Html, html } from '../../../lib/html.ts';
import type { LoggedAttempt, LoggedDelivery } from '../../../webhooks/delivery-log.ts';
import type { Tone } from '../../components/display.ts';
import { preciseTime } from '../../forms.ts';
import type { EndpointContext } from './endpoint-page.ts';

interface Status {
  text: string;
  tone?: Tone;
  detail: Html | string;
}

/** A resent delivery waits again, so the next attempt comes first. */
export function statusOf(
  delivery: LoggedDelivery,
  { endpoint: { disabledAt }, backoffUntil }: Pick<EndpointContext, 'endpoint' | 'backoffUntil'>,
): Status {
  const { dueAt, deliveredAt, givenUpAt, attempts, attemptsMade } = delivery;
  if (dueAt !== null && disabledAt !== null) return { text: 'Waiting', detail: 'until the endpoint is switched on' };
  if (dueAt !== null && attempts === 0 && backoffUntil !== null) {
    return { text: 'Waiting', detail: html`because the endpoint is backing off until ${preciseTime(backoffUntil)}` };
  }
  if (dueAt !== null && attempts === 0) return { text: 'Sending', detail: '' };
  if (dueAt !== null) {
    const nextAt = Math.max(dueAt, backoffUntil ?? 0);
    return { text: 'Retrying', tone: 'caution', detail: html`next attempt from ${preciseTime(nextAt)}` };
  }
  if (attemptsMade.at(-1)?.outcome === 'withheld') return { text: 'Not sent', detail: '' };
  if (givenUpAt !== null) return { text: 'Failed', tone: 'warn', detail: html`given up ${preciseTime(givenUpAt)}` };
  if (deliveredAt !== null) return { text: 'Delivered', tone: 'good', detail: preciseTime(deliveredAt) };
  return { text: 'Ended', detail: 'no further attempts' };
}

interface OutcomeWords {
  /** In one or two words. */
  short: string;
  words: string;
  tone?: Tone;
}

export function describeOutcome({ outcome, status }: LoggedAttempt): OutcomeWords {
  const response = `${status} ${STATUS_CODES[status ?? 0] ?? ''}`.trim();
  const outcomes: Record<LoggedAttempt['outcome'], OutcomeWords> = {
    delivered: { short: String(status), words: response, tone: 'good' },
    refused: { short: String(status), words: response, tone: 'warn' },
    timeout: { short: 'no response', words: 'No response in time', tone: 'warn' },
    unreachable: { short: 'unreachable', words: 'Could not be reached', tone: 'warn' },
    address_refused: {
      short: 'address not public',
      words: 'Not sent, because the address is not on the public internet',
      tone: 'warn',
    },
    withheld: { short: 'withheld', words: 'Not sent, because the app is no longer allowed to receive it' },
    unsigned: {
      short: 'secret missing',
      words: 'Not sent, because the key that encrypted the signing secret is missing. Replace the secret',
      tone: 'warn',
    },
  };
  return outcomes[outcome];
}

/** Whether the receiver may have the event. The other outcomes are decided before a request is sent. */
export function wasSent({ outcome }: LoggedAttempt): boolean {
  return ['delivered', 'refused', 'timeout', 'unreachable'].includes(outcome);
}
