import type { Consent } from '../../grants/consents.ts';
import { type ConnectedFor, mayConnectForBusiness } from '../../grants/transfers.ts';
import type { Inline } from '../../languages/texts.ts';
import { type Html, html } from '../../lib/html.ts';
import { bdi } from '../components/display.ts';
import { type Form, text } from '../forms.ts';
import type { Screen } from './screen.ts';

interface ConnectedForField extends Screen {
  consent: Consent;
  /** What the user chose before the screen was shown again. */
  connectedFor: ConnectedFor | undefined;
}

/** Only owners and admins can choose. */
export function connectedForField(screen: ConnectedForField): Html | null {
  const { texts, authRequest, context, consent, connectedFor = 'user' } = screen;
  const { app } = authRequest;
  const { current } = context;
  if (!current || !mayConnectForBusiness(app, current.role)) return null;
  const business = bdi(current.businessName);
  const words = texts.consent;
  if (consent.connectedFor === 'business') {
    return html`<p class="notice">${words.isForBusiness(bdi(app.name), business)}</p>`;
  }
  const choice = (value: ConnectedFor, label: Inline, hint: string) =>
    html`<label class="choice"><input type="radio" name="connected_for" value="${value}" ${value === connectedFor && html`checked`}><span><strong>${label}</strong><br><span class="muted small">${hint}</span></span></label>`;
  return html`<fieldset class="field"><legend>${words.connectIt}</legend><div class="choices">
${choice('user', words.forMe, words.forMeHint)}
${choice('business', words.forBusiness(business), words.forBusinessHint)}
</div></fieldset>`;
}

export function readConnectedFor(form: Form): ConnectedFor {
  return text(form, 'connected_for') === 'business' ? 'business' : 'user';
}
