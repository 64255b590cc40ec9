import type { Consent } from '../grants/consents.ts';
import { type ConnectedFor, mayConnectForBusiness } from '../grants/transfers.ts';
import { type Html, html } from '../lib/html.ts';
import type { Screen } from './consent-screen.ts';
import { type Form, text } from './forms.ts';

interface ForWhom extends Screen {
  consent: Consent;
  /** What the user has chosen on the screen before. */
  connectedFor: ConnectedFor | undefined;
}

/** Only owners and admins can choose. */
export function forWhomChoice({ authRequest: { app }, context, consent, connectedFor = 'user' }: ForWhom): Html | null {
  const { current } = context;
  if (!current || !mayConnectForBusiness(app, current.role)) return null;
  const { businessName } = current;
  if (consent.connectedFor === 'business') {
    return html`<p class="notice">${app.name} is connected for ${businessName}, under your authority. What you allow here is for ${businessName}, too.</p>`;
  }
  const choice = (value: ConnectedFor, label: string, hint: string) =>
    html`<label class="choice"><input type="radio" name="connected_for" value="${value}" ${value === connectedFor && html`checked`}><span><strong>${label}</strong><br><span class="muted small">${hint}</span></span></label>`;
  return html`<fieldset class="field"><legend>Connect it</legend><div class="choices">
${choice('user', 'For me', 'The connection ends when I leave.')}
${choice('business', `For ${businessName}`, 'The connection stays when I leave. Another owner then answers for it.')}
</div></fieldset>`;
}

export function readConnectedFor(form: Form): ConnectedFor {
  return text(form, 'connected_for') === 'business' ? 'business' : 'user';
}
