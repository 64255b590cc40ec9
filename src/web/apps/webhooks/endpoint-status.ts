import { type Html, html } from '../../../lib/html.ts';
import type { DisabledReason, Endpoint } from '../../../webhooks/endpoints.ts';
import { DISABLED_AFTER, WARNED_AFTER } from '../../../webhooks/retry-schedule.ts';
import { time } from '../../forms.ts';

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
