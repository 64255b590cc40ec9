import { type Html, html } from '../../../lib/html.ts';
import type { DisabledReason, Endpoint } from '../../../webhooks/endpoints.ts';
import { DISABLED_AFTER, WARNED_AFTER } from '../../../webhooks/retry-schedule.ts';
import { time } from '../../forms.ts';

const REASONS: Record<DisabledReason, string> = {
  by_owner: 'It was switched off here or on the command line.',
  gone: 'It answered 410, which asks for no more events.',
  failing: 'Nothing that was sent to it arrived for three days.',
};

export function statusBadge({ disabledAt }: Endpoint): Html {
  return disabledAt === null ? html`<span class="badge">On</span>` : html`<span class="badge warn">Off</span>`;
}

/** What the app's own page says of endpoints that its events do not reach. */
export function failingNotices(path: string, endpoints: Endpoint[], now: number): Html[] {
  return endpoints
    .filter((endpoint) => isFailing(endpoint, now))
    .map(
      (
        endpoint,
      ) => html`<div class="notice"><p><strong>Webhooks do not arrive</strong> at <a href="${path}/${endpoint.id}">${endpoint.url}</a>.</p>
${statusNotice(endpoint, now)}</div>`,
    );
}

function isFailing({ disabledAt, disabledReason, failingSince }: Endpoint, now: number): boolean {
  if (disabledAt !== null) return disabledReason === 'failing';
  return failingSince !== null && now - failingSince >= WARNED_AFTER;
}

/** Why it is off, or that it soon will be. */
export function statusNotice(endpoint: Endpoint, now: number): Html {
  const { disabledAt, disabledReason, failingSince } = endpoint;
  if (disabledAt !== null) {
    return html`<p class="small">Off since ${time(disabledAt)}. ${disabledReason && REASONS[disabledReason]}</p>`;
  }
  if (failingSince === null || now - failingSince < WARNED_AFTER) return html``;
  return html`<p class="problem">Nothing has arrived here since ${time(failingSince)}. If that goes on, the endpoint is switched off at ${time(failingSince + DISABLED_AFTER)}.</p>`;
}
