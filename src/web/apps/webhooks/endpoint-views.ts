import type { FastifyReply } from 'fastify';
import { EVENTS } from '../../../events/event-types.ts';
import { type Html, html } from '../../../lib/html.ts';
import { type Endpoint, findSecretFingerprint } from '../../../webhooks/endpoints.ts';
import { emptyState } from '../../components/display.ts';
import {
  dangerZone,
  pageHead,
  question,
  list as rowList,
  type Settings,
  settingsForm,
  settings as settingsSection,
} from '../../components/structure.ts';
import {
  ariaAttributes,
  copyable,
  type Form,
  input,
  list,
  type Problem,
  postForm,
  problemText,
  text,
  time,
} from '../../forms.ts';
import { type AppPages, appHead } from '../app-page.ts';
import { type DeliveryList, deliverySection, readDeliveries } from './delivery-list.ts';
import { type EndpointContext, type EndpointListContext, statusBadge, statusNotice } from './endpoint-page.ts';

export function endpointListBody(list: EndpointListContext, endpoints: Endpoint[], now: number): Html {
  const { section, viewer, app, path, offered } = list;
  const isAll = ({ eventTypes }: Endpoint) => offered.every((type) => eventTypes.includes(type));
  return html`${appHead(section, viewer, app, { here: 'Webhooks' })}
<div class="head"><div><h2 class="title">Webhooks</h2>
<p class="muted">Signed events are sent to these endpoints and retried until they arrive.</p></div>
<div class="actions"><a class="button primary" href="${path}/new">New endpoint</a></div></div>
${
  endpoints.length === 0 &&
  emptyState({
    title: 'No endpoints yet',
    text: 'An endpoint is a URL of your app. Add one to choose its events and to get its signing secret.',
  })
}
${
  endpoints.length > 0 &&
  rowList(
    endpoints.map(
      (
        endpoint,
      ) => html`<li class="entry"><div><a href="${path}/${endpoint.id}">${endpoint.url}</a> ${statusBadge(endpoint)}
<p class="muted small">${isAll(endpoint) ? 'All events' : endpoint.eventTypes.join(', ')}</p>
${statusNotice(endpoint, now)}</div></li>`,
    ),
  )
}`;
}

/** The head of a page below the list of endpoints. */
function headBelow({ section, viewer, app }: EndpointListContext, listPath: string): Html {
  return appHead(section, viewer, app, { here: 'Webhooks', back: { to: listPath, name: 'All endpoints' } });
}

export function newEndpointBody(
  list: EndpointListContext,
  { settings, key, problem }: { settings: EndpointSettings; key: string; problem?: Problem },
): Html {
  const { viewer, app, path } = list;
  return html`${headBelow(list, path)}
<h2 class="title">Add an endpoint to ${app.name}</h2>
${postForm({
  action: path,
  csrf: viewer.context.csrf,
  style: 'card',
  body: html`<input type="hidden" name="form_key" value="${key}">
${settingsForm(endpointSections(list, settings, problem), html`<button class="primary">Add endpoint</button>`)}`,
})}`;
}

/** The only page that shows a signing secret. */
export function signingSecretBody(endpointPath: string, endpoint: Endpoint, secret: string): Html {
  const body = html`<p class="notice caution"><strong>Copy the secret now.</strong> It is not shown again.</p>
<dl class="facts">
<div><dt>Endpoint</dt><dd>${copyable('endpoint-url', endpoint.url)}</dd></div>
<div><dt>Signing secret</dt><dd>${copyable('signing-secret', secret)}</dd></div>
${endpoint.oldSecretUntil !== null && html`<div><dt>Previous secret</dt><dd>Also signs until ${time(endpoint.oldSecretUntil)}</dd></div>`}
</dl>
<p><a class="button primary" href="${endpointPath}">I have copied it</a></p>`;
  const intro = 'Your app verifies the signature of each event with it.';
  return html`${pageHead({ title: 'Signing secret' })}
${settingsSection({ title: 'Secret', intro, body })}`;
}

/** The page of an endpoint, with a page of its deliveries. */
export async function showEndpoint(
  pages: AppPages,
  reply: FastifyReply,
  context: EndpointContext,
  shown: Shown = {},
): Promise<FastifyReply> {
  const { db, clock, show } = pages;
  const { settings = context.endpoint, problem, query = {} } = shown;
  const { endpoint, viewer } = context;
  const deliveries = await readDeliveries(pages, endpoint.id, query);
  const secretFingerprint = await findSecretFingerprint(db, endpoint);
  const view = { ...context, settings, problem, deliveries, secretFingerprint, now: clock() };
  const title = `Webhook endpoint · ${context.app.name}`;
  return show(reply, viewer, { title, body: endpointBody(view), status: problem ? 400 : 200 });
}

interface Shown {
  settings?: EndpointSettings;
  problem?: Problem;
  /** Selects a page of deliveries. */
  query?: Form;
}

interface EndpointView extends EndpointContext {
  /** What the form shows: the stored settings, or what was submitted if it was rejected. */
  settings: EndpointSettings;
  problem: Problem | undefined;
  deliveries: DeliveryList;
  /** Prevents a form that is sent twice from replacing two secrets. */
  secretFingerprint: string;
  now: number;
}

function endpointBody(view: EndpointView): Html {
  const { endpoint, viewer, path, listPath, settings, problem, deliveries, now } = view;
  const isRejected = problem !== undefined && problem.field !== 'endpoint';
  const form = postForm({
    action: path,
    csrf: viewer.context.csrf,
    style: 'card',
    body: settingsForm(endpointSections(view, settings, problem), html`<button class="primary">Save</button>`),
  });
  const log = deliverySection(view, deliveries);
  return html`${headBelow(view, listPath)}
<h2 class="title">${endpoint.url} ${statusBadge(endpoint)}</h2>
${statusNotice(endpoint, now)}
${problem?.field === 'endpoint' && html`<p class="problem">${problem.message}</p>`}
${isRejected ? html`${form}${log}` : html`${log}${form}`}
${secretSection(view)}
${stopSection(view)}`;
}

function secretSection({ endpoint, viewer, path, secretFingerprint, now }: EndpointView): Html {
  const { oldSecretUntil } = endpoint;
  const bothSign = oldSecretUntil !== null && oldSecretUntil > now;
  return settingsSection({
    title: 'Signing secret',
    intro: 'Your app verifies the signature of each event with it.',
    body: html`${
      bothSign
        ? html`<p>Two secrets sign until ${time(oldSecretUntil)}. If you replace the secret again, the older one stops at once.</p>`
        : html`<p>After a replacement, both secrets sign for a day, so that your app can switch.</p>`
    }
${postForm({
  action: `${path}/secret`,
  csrf: viewer.context.csrf,
  body: html`<input type="hidden" name="secret_fingerprint" value="${secretFingerprint}">
<button class="secondary">Replace the secret</button>`,
})}`,
  });
}

function stopSection({ endpoint, viewer, path }: EndpointView): Html {
  const action = (verb: string, button: Html) =>
    postForm({ action: `${path}/${verb}`, csrf: viewer.context.csrf, body: button });
  return dangerZone([
    endpoint.disabledAt === null
      ? {
          title: 'Switch off the endpoint',
          text: 'While the endpoint is off, events are queued. They are sent when you switch it on again.',
          action: action('disable', html`<button class="danger">Switch off</button>`),
        }
      : {
          title: 'Switch on the endpoint',
          text: 'Queued events are sent when you switch it on.',
          action: action('enable', html`<button class="secondary">Switch on</button>`),
        },
    {
      title: 'Remove the endpoint',
      text: 'Removing cannot be undone.',
      action: html`<a class="button danger" href="${path}/remove">Remove…</a>`,
    },
  ]);
}

export function removeEndpointBody({ endpoint, app, viewer, path }: EndpointContext): Html {
  return question({
    title: 'Remove this endpoint?',
    back: { to: path, name: 'Endpoint' },
    body: html`<p><code>${endpoint.url}</code></p>
<p>${app.name} receives no more events there. Pending deliveries are cancelled, and the delivery log is deleted.</p>
<div class="form-actions"><a class="button secondary" href="${path}">Cancel</a>
${postForm({ action: `${path}/remove`, csrf: viewer.context.csrf, body: html`<button class="danger">Remove endpoint</button>` })}</div>`,
  });
}

export interface EndpointSettings {
  url: string;
  eventTypes: string[];
}

/** What was submitted, valid or not, so that the form can show it again. */
export function readEndpointForm(form: Form): EndpointSettings {
  return { url: text(form, 'url'), eventTypes: list(form, 'events') };
}

function endpointSections(page: EndpointListContext, settings: EndpointSettings, problem?: Problem): Settings[] {
  const wrong = problem?.field === 'events';
  const hint = page.allowsLoopback ? 'https, or http on localhost.' : 'It starts with https://.';
  const events = html`<fieldset class="field" ${ariaAttributes('events', { wrong })}>
<legend class="visually-hidden">Events</legend>
${problem && wrong && problemText(problem)}
<div class="columns">${[...Map.groupBy(page.offered, nounOf)].map(
    ([
      noun,
      types,
    ]) => html`<div role="group" aria-label="${noun}"><p class="choose"><span class="muted small">${noun}</span> ${chooseButtons(noun)}</p>
${types.map((type) => eventChoice(type, settings.eventTypes.includes(type)))}</div>`,
  )}</div>
</fieldset>`;
  return [
    {
      title: 'Address',
      intro: 'Where events are sent, by POST.',
      body: input({ name: 'url', label: 'Address', value: settings.url, hint }, problem),
    },
    { title: 'Events', intro: 'What is sent to the endpoint.', body: events },
  ];
}

/** The script shows them. */
function chooseButtons(noun: string): Html {
  const button = (choice: string, label: string) =>
    html`<button type="button" data-choose="${choice}" aria-label="${label}: ${noun}" hidden>${label}</button>`;
  return html`${button('all', 'All')}${button('none', 'None')}`;
}

/** `Expense category` for `expense_category.created`. */
function nounOf(type: string): string {
  const noun = type.split('.')[0]?.replaceAll('_', ' ') ?? '';
  return noun.charAt(0).toUpperCase() + noun.slice(1);
}

function eventChoice(type: string, isChosen: boolean): Html {
  return html`<label class="choice"><input type="checkbox" name="events" value="${type}" ${isChosen && html`checked`}><span><code>${type}</code><br><span class="muted small">${EVENTS[type]?.summary}.</span></span></label>`;
}
