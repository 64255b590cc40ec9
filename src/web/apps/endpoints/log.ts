import { type Html, html } from '../../../lib/html.ts';
import type { LoggedAttempt, LoggedDelivery } from '../../../webhooks/deliveries.ts';
import { postForm, time } from '../../fields.ts';
import type { OneEndpoint } from './desk.ts';

/** One page of what was sent to an endpoint, newest first. */
export interface Log {
  deliveries: LoggedDelivery[];
  /** The last event of this page, if there are more before it. */
  older: string | undefined;
  /** Where this page begins; undefined for the newest. */
  before: string | undefined;
}

export function logSection(one: OneEndpoint, { deliveries, older, before }: Log): Html {
  const { endpoint, entry, path } = one;
  const isOn = endpoint.disabledAt === null;
  return html`<section class="card" id="log"><div class="head"><h2>Deliveries</h2>
${isOn && postForm({ action: `${path}/test`, csrf: entry.at.csrf, body: html`<button class="secondary">Send a test event</button>` })}</div>
${deliveries.length === 0 && html`<p class="empty">${before ? 'Nothing older is kept.' : 'Nothing has been sent here yet.'}</p>`}
<ul class="rows">${deliveries.map((delivery) => row(one, delivery))}</ul>
${(before || older) && html`<p>${before && html`<a href="${path}#log">Newest</a> `}${older && html`<a href="${path}?before=${older}#log">Older</a>`}</p>`}
</section>`;
}

function row({ endpoint, entry, path }: OneEndpoint, delivery: LoggedDelivery): Html {
  const { id, type, createdAt, attemptsMade } = delivery;
  const name = type || 'An event that is no longer kept';
  return html`<li><div><code>${name}</code> ${time(createdAt)}
<p class="muted small">${outcome(delivery, endpoint.disabledAt === null)}</p>
${attemptsMade.map(attemptMade)}</div>
${postForm({
  action: `${path}/deliveries/${id}/resend`,
  csrf: entry.at.csrf,
  body: html`<button class="quiet" aria-label="Resend ${name} of ${new Date(createdAt).toISOString()}">Resend</button>`,
})}</li>`;
}

/** One that is to be sent again has perhaps arrived before: what comes next is said first. */
function outcome({ dueAt, deliveredAt, givenUpAt, attempts, attemptsMade }: LoggedDelivery, isOn: boolean): Html {
  if (dueAt !== null && !isOn) return html`Waits until the endpoint is switched on`;
  if (dueAt !== null) return attempts === 0 ? html`On its way` : html`Failed; next attempt from ${time(dueAt)}`;
  if (attemptsMade.at(-1)?.outcome === 'withheld') return html`Not sent`;
  if (deliveredAt !== null && givenUpAt === null) return html`Delivered ${time(deliveredAt)}`;
  return givenUpAt === null ? html`Nothing more to do` : html`Given up ${time(givenUpAt)}`;
}

function attemptMade({ at, took, status, head, outcome }: LoggedAttempt): Html {
  const sentence = html`${time(at)}: ${inWords(outcome, status)}, after ${took} ms`;
  if (head === '') return html`<p class="small">${sentence}</p>`;
  return html`<details><summary class="small">${sentence}</summary><pre class="sample">${head}</pre></details>`;
}

function inWords(outcome: LoggedAttempt['outcome'], status: number | null): string {
  const words: Record<LoggedAttempt['outcome'], string> = {
    delivered: `delivered, with status ${status}`,
    refused: `refused, with status ${status}`,
    timeout: 'no answer in time',
    unreachable: 'could not be reached',
    address_refused: 'not sent, because the address is not on the public internet',
    withheld: 'not sent, because the app may not hear of it any more',
    unsigned: 'Not sent: the key is gone that kept its signing secret. Replace the secret.',
  };
  return words[outcome];
}
