import type { App } from '../../apps/apps.ts';
import { isDynamicClientId } from '../../apps/dynamic-client-ids.ts';
import type { Texts } from '../../languages/en.ts';
import { type Html, html } from '../../lib/html.ts';
import { isLoopbackHost } from '../../lib/ip-addresses.ts';
import { appLinks } from '../app-identity-views.ts';
import { badge, bdi } from '../components/display.ts';

interface ExternalRequest {
  texts: Texts;
  app: App;
  redirectUri: string;
  platformName: string;
}

/** The app is not registered here, so only the host that describes it is known, if there is one. */
export function externalOwner({ texts, app, redirectUri, platformName }: ExternalRequest): Html {
  const { name, externalClientId } = app;
  const { consent } = texts;
  const clientId = externalClientId ?? '';
  const origin = isDynamicClientId(clientId)
    ? consent.selfRegistered
    : consent.fromHost(bdi(name), html`<strong>${bdi(new URL(clientId).host)}</strong>`);
  return html`<p class="muted">${origin} ${consent.notChecked(bdi(platformName))}</p>
<p class="muted">${badge(consent.notRegistered(bdi(platformName)))}</p>
${appLinks(app.identity, texts)}
${redirectWarning(texts, app, redirectUri)}`;
}

/** Only for public apps: any program on a computer can present the `client_id` of another and receive what is sent there (RFC 8252 §8.6). */
export function redirectWarning({ consent }: Texts, { name, externalClientId }: App, redirectUri: string): Html | null {
  const target = new URL(redirectUri);
  if (isLoopbackHost(target.hostname) || !target.protocol.startsWith('http')) {
    return html`<p class="notice warn">${consent.toThisDevice(bdi(name))}</p>`;
  }
  const home = URL.parse(externalClientId ?? '')?.hostname;
  if (!home || isWithin(target.hostname, home) || isWithin(home, target.hostname)) return null;
  const strong = (host: string) => html`<strong>${bdi(host)}</strong>`;
  return html`<p class="notice warn">${consent.toAnotherSite(strong(target.host), strong(home))}</p>`;
}

function isWithin(host: string, parent: string): boolean {
  return host === parent || host.endsWith(`.${parent}`);
}
