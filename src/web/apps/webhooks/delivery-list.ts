import { type Html, html } from '../../../lib/html.ts';
import { isId } from '../../../lib/ids.ts';
import { type DeliveryStatus, type LoggedDelivery, listDeliveries } from '../../../webhooks/delivery-log.ts';
import { emptyState } from '../../components/display.ts';
import { logEntry, logList, shortId } from '../../components/log.ts';
import { pluralize } from '../../components/product.ts';
import { type Form, postForm, shortTime } from '../../forms.ts';
import { type Cursor, type ListPage, pager, readCursor, readPage } from '../../listing.ts';
import {
  isFiltered,
  type Log,
  type LogFilters,
  noMatch,
  readLogFilters,
  startOfTime,
  statusFilter,
  timeForm,
} from '../../log-filters.ts';
import { GUIDES } from '../../reference/guides.ts';
import type { AppPages } from '../app-page.ts';
import { describeOutcome, statusOf } from './delivery-status.ts';
import type { EndpointContext } from './endpoint-page.ts';

const LOG: Log<DeliveryStatus> = {
  noun: 'deliveries',
  statuses: { delivered: 'Delivered', failed: 'Failed', waiting: 'Waiting' },
  times: ['hour', 'day', 'week'],
  searchLabel: 'Find a delivery by its webhook-id',
};

/** One page of deliveries, newest first. */
export interface DeliveryList {
  filters: LogFilters<DeliveryStatus>;
  cursor: Cursor;
  page: ListPage<LoggedDelivery>;
  issuer: string;
}

export async function readDeliveries(
  { db, clock, issuer }: AppPages,
  endpointId: string,
  query: Form,
): Promise<DeliveryList> {
  const filters = readLogFilters(LOG, query);
  const cursor = readCursor(query);
  const eventId = filters.search.toLowerCase() || undefined;
  const filter = { endpointId, status: filters.status, eventId, since: startOfTime(filters, clock()) };
  const page = await readPage(cursor, {
    load: async (range) => (eventId === undefined || isId(eventId) ? listDeliveries(db, { ...filter, ...range }) : []),
    cursorOf: (delivery: LoggedDelivery) => delivery.eventId,
  });
  return { filters, cursor, page, issuer };
}

export function deliverySection(context: EndpointContext, list: DeliveryList): Html {
  const { endpoint, viewer, path } = context;
  const { filters, cursor, page } = list;
  const { search, status, time } = filters;
  const isFirst = page.previous === undefined && cursor.after === undefined;
  const test = html`<button class="secondary">Send a test event</button>`;
  return html`<section class="card"><div class="head"><h2>Deliveries</h2><div class="actions">${statusFilter(LOG, filters, { path })}
${endpoint.disabledAt === null && postForm({ action: `${path}/test`, csrf: viewer.context.csrf, body: test })}</div></div>
${timeForm(LOG, filters, { path })}
<div id="deliveries" ${isFirst && html`data-live`}>${rows(context, list)}</div>
${pager({ path, search, after: cursor.after, previous: page.previous, filters: { status, time } }, page.next)}
</section>`;
}

function rows(context: EndpointContext, list: DeliveryList): Html {
  const { page } = list;
  if (page.shown.length === 0) return noRows(context, list);
  return logList(
    'Deliveries',
    page.shown.map((delivery) => row(context, delivery)),
  );
}

function noRows({ path }: EndpointContext, { filters, cursor, issuer }: DeliveryList): Html {
  if (isFiltered(filters)) {
    const hint = 'No delivery to this endpoint has this ID. It is in the webhook-id header of every request to it.';
    return noMatch(LOG, { path }, filters.search && hint);
  }
  if (cursor.after) return emptyState({ text: 'No older deliveries.' });
  return emptyState({
    title: 'Nothing has been sent here yet',
    text: 'Each event is listed here as it is sent, with every attempt. A test event shows whether your app receives it.',
    action: html`<p><a class="button" href="${issuer}${GUIDES}/receive-webhooks">Receive webhooks</a></p>`,
  });
}

function row(context: EndpointContext, delivery: LoggedDelivery): Html {
  const { id, event, eventId, createdAt, attemptsMade } = delivery;
  const last = attemptsMade.at(-1);
  return logEntry({
    to: `${context.path}/deliveries/${id}`,
    status: statusOf(delivery, context),
    title: event?.type ?? 'Deleted event',
    about: [
      last && describeOutcome(last).short,
      attemptsMade.length > 1 && pluralize(attemptsMade.length, 'attempt', 'attempts'),
    ],
    at: shortTime(createdAt),
    took: last?.took ?? null,
    id: shortId(eventId, 'webhook-id'),
  });
}
