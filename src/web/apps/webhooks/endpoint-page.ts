import type { FastifyRequest } from 'fastify';
import type { App } from '../../../apps/apps.ts';
import type { EventType } from '../../../events/event-types.ts';
import type { Event } from '../../../events/events.ts';
import { type Html, html } from '../../../lib/html.ts';
import { isId } from '../../../lib/ids.ts';
import type { LoggedAttempt, LoggedDelivery } from '../../../webhooks/deliveries.ts';
import { type DisabledReason, type Endpoint, findEndpoint, subscribableEvents } from '../../../webhooks/endpoints.ts';
import { DISABLED_AFTER, WARNED_AFTER } from '../../../webhooks/queue.ts';
import { toMessage } from '../../../webhooks/signatures.ts';
import { emptyState } from '../../components/display.ts';
import { notFound } from '../../errors.ts';
import { postForm, preciseTime, time } from '../../forms.ts';
import type { AppPages, AppSection, Viewer } from '../app-page.ts';

/** The app whose endpoints a page shows, and the path of their list. */
export interface EndpointListContext {
  section: AppSection;
  viewer: Viewer;
  app: App;
  path: string;
  /** The event types that an endpoint can receive. */
  offered: EventType[];
}

/** One endpoint, with the path of its page. */
export interface EndpointContext extends EndpointListContext {
  endpoint: Endpoint;
  listPath: string;
}

/** Only those who may change the app can see its endpoints: an address can be a secret. */
export async function loadEndpointList(
  { section, loadApp, servesResources }: AppPages,
  request: FastifyRequest<{ Params: { id: string } }>,
): Promise<EndpointListContext> {
  const { viewer, app, path } = await loadApp(request);
  return { section, viewer, app, path: `${path}/endpoints`, offered: subscribableEvents(servesResources) };
}

export async function loadEndpoint(
  pages: AppPages,
  request: FastifyRequest<{ Params: { id: string; endpoint: string } }>,
): Promise<EndpointContext> {
  const list = await loadEndpointList(pages, request);
  const { endpoint: id } = request.params;
  const endpoint = isId(id) ? await findEndpoint(pages.db, list.app.id, id) : undefined;
  if (!endpoint) throw notFound();
  return { ...list, endpoint, listPath: list.path, path: `${list.path}/${endpoint.id}` };
}

const REASONS: Record<DisabledReason, string> = {
  by_owner: 'It was switched off here or on the command line.',
  gone: 'It responded with 410, which asks for no more events.',
  failing: 'No delivery succeeded for three days.',
};

export function statusBadge({ disabledAt }: Endpoint): Html {
  return disabledAt === null ? html`<span class="badge">On</span>` : html`<span class="badge warn">Off</span>`;
}

/** Shown on the app's settings page for failing endpoints. */
export function failingNotices(path: string, endpoints: Endpoint[], now: number): Html[] {
  return endpoints
    .filter((endpoint) => isFailing(endpoint, now))
    .map(
      (
        endpoint,
      ) => html`<div class="notice"><p><strong>Webhook deliveries are failing</strong> for <a href="${path}/${endpoint.id}">${endpoint.url}</a>.</p>
${statusNotice(endpoint, now)}</div>`,
    );
}

function isFailing({ disabledAt, disabledReason, failingSince }: Endpoint, now: number): boolean {
  if (disabledAt !== null) return disabledReason === 'failing';
  return failingSince !== null && now - failingSince >= WARNED_AFTER;
}

/** Why the endpoint is off, or when it will be switched off. */
export function statusNotice(endpoint: Endpoint, now: number): Html {
  const { disabledAt, disabledReason, failingSince } = endpoint;
  if (disabledAt !== null) {
    return html`<p class="small">Off since ${time(disabledAt)}. ${disabledReason && REASONS[disabledReason]}</p>`;
  }
  if (failingSince === null || now - failingSince < WARNED_AFTER) return html``;
  return html`<p class="problem">No delivery has succeeded since ${time(failingSince)}. If this continues, the endpoint is switched off at ${time(failingSince + DISABLED_AFTER)}.</p>`;
}

/** One page of deliveries, newest first. */
export interface DeliveryLog {
  deliveries: LoggedDelivery[];
  /** The events of these deliveries that the app may read now. */
  readable: ReadonlySet<Event>;
  /** The cursor of the next page, if there is one. */
  older: string | undefined;
  /** The cursor of this page; undefined for the newest. */
  before: string | undefined;
}

export function logSection(context: EndpointContext, log: DeliveryLog): Html {
  const { deliveries, older, before } = log;
  const { endpoint, viewer, path } = context;
  const isOn = endpoint.disabledAt === null;
  return html`<section class="card" id="log"><div class="head"><h2>Deliveries</h2>
${isOn && postForm({ action: `${path}/test`, csrf: viewer.context.csrf, body: html`<button class="secondary">Send a test event</button>` })}</div>
${deliveries.length === 0 && emptyState({ text: before ? 'No older deliveries.' : 'Nothing has been sent here yet.' })}
<ul class="rows">${deliveries.map((delivery) => row(context, log, delivery))}</ul>
${(before || older) && html`<p>${before && html`<a href="${path}#log">Newest</a> `}${older && html`<a href="${path}?before=${older}#log">Older</a>`}</p>`}
</section>`;
}

function row({ endpoint, viewer, path }: EndpointContext, { readable }: DeliveryLog, delivery: LoggedDelivery): Html {
  const { id, event, createdAt, attemptsMade } = delivery;
  const name = event?.type ?? 'Deleted event';
  const { className, badge, detail } = statusOf(delivery, endpoint.disabledAt === null);
  return html`<li class="${className}"><div><code>${name}</code> ${preciseTime(createdAt)}
<p class="small"><span class="badge ${BADGES[className]}">${badge}</span> ${detail}</p>
${attemptsMade.map(attemptDetails)}
${event && attemptsMade.some(wasSent) && payload(event, readable)}</div>
${postForm({
  action: `${path}/deliveries/${id}/resend`,
  csrf: viewer.context.csrf,
  body: html`<button class="quiet" aria-label="Resend ${name} of ${new Date(createdAt).toISOString()}">Resend</button>`,
})}</li>`;
}

const BADGES = { delivered: 'good', failed: 'warn', waiting: '' } as const;

interface State {
  className: keyof typeof BADGES;
  badge: string;
  detail: Html | null;
}

/** A resent delivery may have succeeded before, so the next attempt comes first. */
function statusOf({ dueAt, deliveredAt, givenUpAt, attempts, attemptsMade }: LoggedDelivery, isOn: boolean): State {
  const waiting = (badge: string, detail: Html | null): State => ({ className: 'waiting', badge, detail });
  const failed = (detail: Html): State => ({ className: 'failed', badge: 'Failed', detail });
  if (dueAt !== null && !isOn) return waiting('Waiting', html`Until the endpoint is switched on`);
  if (dueAt !== null && attempts === 0) return waiting('On its way', null);
  if (dueAt !== null) return failed(html`Next attempt from ${preciseTime(dueAt)}`);
  if (attemptsMade.at(-1)?.outcome === 'withheld') return waiting('Not sent', null);
  if (givenUpAt !== null) return failed(html`Given up ${preciseTime(givenUpAt)}`);
  if (deliveredAt !== null) return { className: 'delivered', badge: 'Delivered', detail: preciseTime(deliveredAt) };
  return waiting('No further attempts', null);
}

/** Whether the receiver may have the event. The other outcomes are decided before a request is sent. */
function wasSent({ outcome }: LoggedAttempt): boolean {
  return ['delivered', 'refused', 'timeout', 'unreachable'].includes(outcome);
}

/** The payload as it was sent. */
function payload(event: Event, readable: ReadonlySet<Event>): Html {
  if (!readable.has(event)) {
    return html`<p class="muted small">The payload is hidden: the app is no longer allowed to read it.</p>`;
  }
  const { id, body } = toMessage(event);
  return html`<details><summary class="small">Payload</summary>
<p class="small">webhook-id: <code>${id}</code></p>
<pre class="sample">${body}</pre></details>`;
}

function attemptDetails({ at, took, status, head, outcome }: LoggedAttempt): Html {
  const sentence = html`${preciseTime(at)}: ${describeOutcome(outcome, status)}, after ${took} ms`;
  if (head === '') return html`<p class="small">${sentence}</p>`;
  return html`<details><summary class="small">${sentence}</summary><pre class="sample">${head}</pre></details>`;
}

function describeOutcome(outcome: LoggedAttempt['outcome'], status: number | null): string {
  const words: Record<LoggedAttempt['outcome'], string> = {
    delivered: `delivered, with status ${status}`,
    refused: `refused, with status ${status}`,
    timeout: 'no response in time',
    unreachable: 'could not be reached',
    address_refused: 'not sent, because the address is not on the public internet',
    withheld: 'not sent, because the app is no longer allowed to receive it',
    unsigned: 'not sent, because the key that encrypted the signing secret is missing. Replace the secret',
  };
  return words[outcome];
}
