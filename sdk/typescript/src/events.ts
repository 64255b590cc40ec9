import { optionalCount, optionalText, requireObject } from './arguments.ts';
import type { Credentials } from './credentials.ts';
import type { GatehouseEvent } from './event-types.ts';
import { type Page, readPage, walkPages } from './paging.ts';
import { fieldsOf, type Request } from './requests.ts';
import { IDEMPOTENT, send } from './retries.ts';
import { type CallOptions, optionalSignal } from './signals.ts';
import { isTime } from './times.ts';

/** Which events to iterate over. */
export interface EventsOptions extends CallOptions {
  /** The id of the last event that the app has; left out, all events of the last 30 days. */
  after?: string | undefined;
  /** How many are read at a time: 1 to 200; 50 if left out. */
  pageSize?: number | undefined;
}

/** Which page of events. */
export interface EventPageOptions extends CallOptions {
  /** 1 to 200; 50 if left out. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before, or the id of an event. */
  cursor?: string | undefined;
}

/** Events, and the cursor of the next page. */
export interface EventPage {
  /** The oldest first. */
  events: GatehouseEvent[];
  /** The `cursor` of the next page; undefined on the last one. */
  nextCursor: string | undefined;
}

export async function readEventPage(app: Credentials, options: EventPageOptions): Promise<EventPage> {
  const { limit, cursor, signal } = requireObject(options, 'The argument of eventPage');
  const wanted = { limit: optionalCount(limit, 'limit'), cursor: optionalText(cursor, 'cursor') };
  const { items, nextCursor } = await askForEvents(app, { ...wanted, signal: optionalSignal(signal) });
  return { events: items, nextCursor };
}

export function walkEvents(app: Credentials, options: EventsOptions): AsyncGenerator<GatehouseEvent, void, undefined> {
  // Checked here, since a generator would check them only when the first event is read.
  const given = requireObject(options, 'The argument of events');
  const limit = optionalCount(given.pageSize, 'pageSize');
  const signal = optionalSignal(given.signal);
  return walkPages(optionalText(given.after, 'after'), (cursor) => askForEvents(app, { limit, cursor, signal }));
}

async function askForEvents(app: Credentials, options: EventPageOptions): Promise<Page<GatehouseEvent>> {
  const response = await send(app.connection, toRequest(app, options), IDEMPOTENT);
  return readPage(response, isEvent);
}

function toRequest({ fields }: Credentials, { limit, cursor, signal }: EventPageOptions): Request {
  const query = new URLSearchParams();
  if (limit !== undefined) query.set('limit', String(limit));
  if (cursor !== undefined) query.set('cursor', cursor);
  // RFC 6749 §2.3.1: form-encoded, which also makes it ASCII.
  const [id, secret] = [fields.client_id, fields.client_secret].map(encodeURIComponent);
  return { path: `/api/v1/events?${query}`, headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` }, signal };
}

function isEvent(value: unknown): value is GatehouseEvent {
  const { id } = fieldsOf(value);
  return typeof id === 'string' && id !== '' && readPayload(value) !== undefined;
}

/** What an event and a webhook have in common; undefined if the value is neither. */
export function readPayload(value: unknown): Omit<GatehouseEvent, 'id'> | undefined {
  const { type, timestamp, data } = fieldsOf(value);
  const isValid = typeof type === 'string' && type !== '' && isTime(timestamp);
  if (!isValid || typeof data !== 'object' || data === null || Array.isArray(data)) return undefined;
  return { type, timestamp, data } as Omit<GatehouseEvent, 'id'>;
}
