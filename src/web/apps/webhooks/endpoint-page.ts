import type { FastifyRequest } from 'fastify';
import type { App } from '../../../apps/apps.ts';
import type { EventType } from '../../../events/event-types.ts';
import { type Html, html } from '../../../lib/html.ts';
import { isId } from '../../../lib/ids.ts';
import {
  type DisabledReason,
  type Endpoint,
  findBackoffEnd,
  findEndpoint,
  subscribableEvents,
} from '../../../webhooks/endpoints.ts';
import { DISABLED_AFTER, WARNED_AFTER } from '../../../webhooks/queue.ts';
import { badge } from '../../components/display.ts';
import { notFound } from '../../errors.ts';
import { time } from '../../forms.ts';
import type { AppPages, AppSection, Viewer } from '../app-page.ts';

/** The app whose endpoints a page shows, and the path of their list. */
export interface EndpointListContext {
  section: AppSection;
  viewer: Viewer;
  app: App;
  path: string;
  /** The event types that an endpoint can receive. */
  offered: EventType[];
  /** Whether an endpoint may be on this machine. */
  allowsLoopback: boolean;
}

/** One endpoint, with the path of its page. */
export interface EndpointContext extends EndpointListContext {
  endpoint: Endpoint;
  /** Null if it is not backing off. */
  backoffUntil: number | null;
  listPath: string;
}

/** Only those who may change the app can see its endpoints: an address can be a secret. */
export async function loadEndpointList(
  { section, loadApp, servesResources, allowsLoopback }: AppPages,
  request: FastifyRequest<{ Params: { id: string } }>,
): Promise<EndpointListContext> {
  const { viewer, app, path } = await loadApp(request);
  return {
    section,
    viewer,
    app,
    path: `${path}/endpoints`,
    offered: subscribableEvents(servesResources),
    allowsLoopback,
  };
}

export async function loadEndpoint(
  pages: AppPages,
  request: FastifyRequest<{ Params: { id: string; endpoint: string } }>,
): Promise<EndpointContext> {
  const list = await loadEndpointList(pages, request);
  const { endpoint: id } = request.params;
  const endpoint = isId(id) ? await findEndpoint(pages.db, list.app.id, id) : undefined;
  if (!endpoint) throw notFound();
  const backoffUntil = await findBackoffEnd(pages.db, endpoint, pages.clock());
  return { ...list, endpoint, backoffUntil, listPath: list.path, path: `${list.path}/${endpoint.id}` };
}

const REASONS: Record<DisabledReason, string> = {
  by_owner: 'It was switched off here or on the command line.',
  gone: 'It responded with 410 Gone, which disables it.',
  failing: 'No delivery succeeded for three days.',
};

export function statusBadge({ disabledAt, failingSince }: Endpoint): Html {
  if (disabledAt !== null) return badge('Off', 'warn');
  return html`${badge('On')} ${failingSince !== null && badge(html`Failing since ${time(failingSince)}`, 'caution')}`;
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
