import type { FastifyInstance } from 'fastify';
import type { Event } from '../../../events/events.ts';
import { type Html, html } from '../../../lib/html.ts';
import { isId } from '../../../lib/ids.ts';
import { resend } from '../../../webhooks/deliveries.ts';
import { findDelivery, type LoggedAttempt, type LoggedDelivery } from '../../../webhooks/delivery-log.ts';
import { headersOf, toMessage } from '../../../webhooks/signatures.ts';
import { visibleTo } from '../../../webhooks/visibility.ts';
import { codeBlock, statusDot } from '../../components/display.ts';
import { duration, facts } from '../../components/log.ts';
import { section as card } from '../../components/structure.ts';
import { notFound } from '../../errors.ts';
import { redirectWithFlash } from '../../flash.ts';
import { copyable, postForm, preciseTime } from '../../forms.ts';
import { type AppPages, appHead } from '../app-page.ts';
import { describeOutcome, statusOf, wasSent } from './delivery-status.ts';
import { type EndpointContext, loadEndpoint } from './endpoint-page.ts';

type ForDelivery = { Params: { id: string; endpoint: string; delivery: string } };

/** One delivery, with what was sent and received. `path` is that of the endpoint. */
export function mountDelivery(host: FastifyInstance, pages: AppPages, path: string): void {
  const { section, db, clock, show } = pages;
  const route = `${path}/deliveries/:delivery`;

  host.get<ForDelivery>(route, section.edit, async (request, reply) => {
    const context = await loadEndpoint(pages, request);
    const { delivery: id } = request.params;
    const delivery = isId(id) ? await findDelivery(db, context.endpoint.id, id) : undefined;
    if (!delivery) throw notFound();
    const { app, viewer } = context;
    const back = { to: context.path, name: 'Deliveries' };
    const [readable] = await visibleTo(db, app.id, delivery.event ? [delivery.event] : [], clock());
    const body = html`${appHead(section, viewer, app, { here: 'Webhooks', back })}${deliveryBody(context, delivery, readable)}`;
    return show(reply, viewer, { title: `Delivery · ${app.name}`, body });
  });

  host.post<ForDelivery>(`${route}/resend`, section.edit, async (request, reply) => {
    const context = await loadEndpoint(pages, request);
    const { delivery } = request.params;
    if (!isId(delivery) || !(await resend(db, context.endpoint.id, delivery, clock()))) throw notFound();
    return redirectWithFlash(reply, `${context.path}/deliveries/${delivery}`, 'delivery_resent');
  });
}

/** `readable` is the event, if the app may read it now. */
function deliveryBody(context: EndpointContext, delivery: LoggedDelivery, readable: Event | undefined): Html {
  const { endpoint, viewer, path } = context;
  const { id, event, eventId, createdAt } = delivery;
  const { text, tone, detail } = statusOf(delivery, context);
  const again = postForm({
    action: `${path}/deliveries/${id}/resend`,
    csrf: viewer.context.csrf,
    body: html`<button class="secondary">Send again</button>`,
  });
  const known = facts({
    Status: html`${statusDot(text, tone)}${detail && html` <span class="muted">${detail}</span>`}`,
    'webhook-id': copyable('webhook-id', eventId),
    Created: preciseTime(createdAt),
    Endpoint: html`<a href="${path}">${endpoint.url}</a>`,
  });
  return html`<section class="card"><div class="head"><h2 class="title"><code>${event?.type ?? 'Deleted event'}</code></h2><div class="actions">${again}</div></div>
<div id="delivery" data-live>${known}</div></section>
<div id="attempts" data-live>${attemptSection(delivery)}</div>
${card({ title: 'Payload', body: payload(delivery, readable) })}`;
}

function payload({ event, attemptsMade }: LoggedDelivery, readable: Event | undefined): Html {
  if (!event) return html`<p class="muted">The event was removed. Events are kept for 30 days.</p>`;
  if (!attemptsMade.some(wasSent)) return html`<p class="muted">Nothing has been sent yet.</p>`;
  if (!readable) return html`<p class="muted">The payload is hidden: the app is no longer allowed to read it.</p>`;
  const { body } = toMessage(event);
  const code = JSON.stringify(JSON.parse(body), null, 2);
  return html`<p class="muted small">The signature covers the bytes that were sent, without these spaces and line breaks. Copy gives those bytes.</p>
${codeBlock({ id: 'payload', label: 'Payload', code, copies: body })}`;
}

function attemptSection(delivery: LoggedDelivery): Html {
  const { attemptsMade, eventId } = delivery;
  if (attemptsMade.length === 0) return card({ title: 'Attempts', body: html`<p class="muted">No attempt yet.</p>` });
  const attempts = attemptsMade.map((attempt, i) =>
    attemptDetails(attempt, { number: i + 1, eventId, isLast: i === attemptsMade.length - 1 }),
  );
  return card({ title: 'Attempts', body: html`${attempts.reverse()}` });
}

interface AttemptContext {
  number: number;
  eventId: string;
  isLast: boolean;
}

function attemptDetails(attempt: LoggedAttempt, { number, eventId, isLast }: AttemptContext): Html {
  const { at, took, signed, head } = attempt;
  const { words, tone } = describeOutcome(attempt);
  const sent = signed && Object.entries(headersOf(eventId, signed)).map(([name, value]) => `${name}: ${value}`);
  return html`<details class="attempt" id="attempt-${number}" ${isLast && html`open`}><summary>${statusDot(words, tone)} <span class="muted small">${duration(took)}</span> ${preciseTime(at)}</summary>
<div class="columns">
<div><h3 class="small muted">Headers sent</h3>${sent ? html`<pre class="sample" tabindex="0">${sent.join('\n')}</pre>` : html`<p class="muted small">No request was sent.</p>`}</div>
<div><h3 class="small muted">Response</h3>${head ? html`<pre class="sample" tabindex="0">${head}</pre><p class="muted small">The body of a response is not read.</p>` : html`<p class="muted small">There was no response.</p>`}</div>
</div></details>`;
}
