import type { App } from '../apps/apps.ts';
import { isDynamicClientId } from '../apps/dynamic-client-ids.ts';
import { type Html, html } from '../lib/html.ts';
import { isLoopbackHost } from '../lib/ip-addresses.ts';
import { appLinks } from './app-identity-views.ts';

interface ExternalRequest {
  app: App;
  redirectUri: string;
  platformName: string;
}

/** Nobody here has registered the app, so all that is known about it is the host that describes it, if there is one. */
export function externalOwner({ app, redirectUri, platformName }: ExternalRequest): Html {
  const { name, externalClientId } = app;
  const clientId = externalClientId ?? '';
  const origin = isDynamicClientId(clientId)
    ? html`This app registered itself; its name is not verified.`
    : html`${name} is an app from <strong>${new URL(clientId).host}</strong>.`;
  return html`<p class="muted">${origin} It is not made or checked by ${platformName}.</p>
<p class="muted"><span class="badge">Not registered with ${platformName}</span></p>
${appLinks(app.identity)}
${redirectWarning(app, redirectUri)}`;
}

/** Only for public apps: any program on a computer can present the `client_id` of another and receive what is sent there (RFC 8252 §8.6). */
export function redirectWarning({ name, externalClientId }: App, redirectUri: string): Html | null {
  const target = new URL(redirectUri);
  if (isLoopbackHost(target.hostname) || !target.protocol.startsWith('http')) {
    return html`<p class="notice warn">You will be sent to a program on this device, and any program can call itself ${name}. Choose Allow only if you started this yourself, just now.</p>`;
  }
  const home = URL.parse(externalClientId ?? '')?.hostname;
  if (!home || isWithin(target.hostname, home) || isWithin(home, target.hostname)) return null;
  return html`<p class="notice warn">You will be sent to <strong>${target.host}</strong>, which is another site than <strong>${home}</strong>. Choose Allow only if you know both.</p>`;
}

function isWithin(host: string, parent: string): boolean {
  return host === parent || host.endsWith(`.${parent}`);
}
