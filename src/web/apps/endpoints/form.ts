import type { EventType } from '../../../events/event-types.ts';
import { type Html, html } from '../../../lib/html.ts';
import { CHOICES } from '../../../webhooks/endpoint-fields.ts';
import { ariaAttributes, type Form, input, list, type Problem, problemText, text } from '../../forms.ts';

export interface EndpointSettings {
  url: string;
  eventTypes: string[];
}

/** When each is sent. A test is sent to whoever asks for one, so there is nothing to choose about it. */
const MEANINGS: Record<Exclude<EventType, 'endpoint.test'>, string> = {
  'grant.created': 'A user has allowed the app.',
  'grant.revoked': 'What a user allowed has ended, or is stopped for now.',
  'grant.expiring': 'What a user allowed is about to end, since the app has not used it.',
  'invoice.created': 'There is a new invoice.',
  'invoice.updated': 'The status of an invoice has changed, to PAID or any other.',
  'invoice.paid': 'An invoice has been paid. Sent after its invoice.updated.',
  'app.secret_added': 'The app has a second secret.',
  'app.secret_removed': 'A secret of the app no longer works.',
};

export const emptyEndpoint: EndpointSettings = { url: '', eventTypes: CHOICES };

/** What was typed, sound or not, so that the form can show it again. */
export function readEndpointForm(form: Form): EndpointSettings {
  return { url: text(form, 'url'), eventTypes: list(form, 'events') };
}

export function endpointFields({ url, eventTypes }: EndpointSettings, problem?: Problem): Html {
  const wrong = problem?.field === 'events';
  const hint = 'Where events are sent, by POST. https, or http on localhost.';
  return html`${input({ name: 'url', label: 'Address', value: url, hint }, problem)}
<fieldset class="field" ${ariaAttributes('events', { wrong })}>
<legend>Events</legend>
${problem && wrong && problemText(problem)}
${CHOICES.map(
  (type) =>
    html`<label class="choice"><input type="checkbox" name="events" value="${type}" ${eventTypes.includes(type) && html`checked`}><span><code>${type}</code> ${MEANINGS[type]}</span></label>`,
)}
</fieldset>`;
}
