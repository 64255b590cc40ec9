import { EVENTS } from '../../../events/event-types.ts';
import { type Html, html } from '../../../lib/html.ts';
import { SUBSCRIBABLE_EVENTS } from '../../../webhooks/endpoints.ts';
import { ariaAttributes, type Form, input, list, type Problem, problemText, text } from '../../forms.ts';

export interface EndpointSettings {
  url: string;
  eventTypes: string[];
}

export const emptyEndpoint: EndpointSettings = { url: '', eventTypes: SUBSCRIBABLE_EVENTS };

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
${SUBSCRIBABLE_EVENTS.map(
  (type) =>
    html`<label class="choice"><input type="checkbox" name="events" value="${type}" ${eventTypes.includes(type) && html`checked`}><span><code>${type}</code> ${EVENTS[type].summary}.</span></label>`,
)}
</fieldset>`;
}
