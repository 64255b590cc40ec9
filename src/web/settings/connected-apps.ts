import type { FastifyInstance } from 'fastify';
import { html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { type Connection, disconnect, listConnections } from '../../oauth/connections.ts';
import { listScopes } from '../../oauth/scopes.ts';
import { type Form, postForm, text, time } from '../fields.ts';
import { sendPage } from '../layout.ts';
import type { WebParts } from '../parts.ts';
import { findPlace } from '../place.ts';
import { notFound } from '../refusals.ts';
import { requireSession } from '../visits.ts';

const PATH = '/settings/connected-apps';

export function mountConnectedApps(host: FastifyInstance, parts: WebParts): void {
  const { storage, clock, platformName } = parts;

  host.get(PATH, async (request, reply) => {
    const at = await findPlace(parts, request);
    const connections = await listConnections(storage.durable, at.user.id, clock());
    return sendPage(reply, {
      title: 'Connected apps',
      platformName,
      width: 'wide',
      at,
      body: html`<h1>Connected apps</h1>
<p class="muted">What you have let into your businesses. Disconnecting an app ends its access at once.</p>
${connections.length === 0 && html`<p class="empty">No app acts for you. When you allow one, it is listed here.</p>`}
<ul class="cards">${connections.map((connection) => card(connection, at.csrf))}</ul>`,
    });
  });

  host.post<{ Body: Form }>(`${PATH}/disconnect`, async (request, reply) => {
    const { user } = requireSession(request);
    const [appId, businessId] = [text(request.body, 'app'), text(request.body, 'business')];
    if (!isId(appId) || !isId(businessId)) throw notFound();
    await disconnect(storage, { userId: user.id, appId, businessId }, clock());
    return reply.redirect(PATH, 303);
  });
}

function card({ app, businessId, businessName, scopes, since, isLive }: Connection, csrf: string) {
  return html`<li class="card">
<h2>${app.name} ${app.ownerScope === 'platform' && html`<span class="badge">First-party</span>`}</h2>
<p class="muted">In ${businessName}, since ${time(since)}</p>
${!isLive && html`<p class="notice">It has no access now, but may come back without asking. Disconnect it to be asked again.</p>`}
<ul class="scopes">${listScopes(scopes).map(({ meaning }) => html`<li>${meaning}</li>`)}</ul>
${postForm({
  action: `${PATH}/disconnect`,
  csrf,
  body: html`<input type="hidden" name="app" value="${app.id}">
<input type="hidden" name="business" value="${businessId}">
<button class="danger" aria-label="Disconnect ${app.name} from ${businessName}">Disconnect</button>`,
})}
</li>`;
}
