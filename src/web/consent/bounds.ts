import type { FastifyReply } from 'fastify';
import { type Bounded, type ExternalConnection, listLeastUsed, type Side } from '../../grants/external-connections.ts';
import { type Html, html } from '../../lib/html.ts';
import { appAvatar } from '../app-identity-views.ts';
import { bdi } from '../components/display.ts';
import type { WebDeps } from '../deps.ts';
import { postForm, time } from '../forms.ts';
import { sendPage } from '../layout.ts';
import { cspSource } from '../return-to.ts';
import { connectedAppsPath, connectionPath } from '../settings/disconnecting.ts';
import { authorizeUrl, type ConsentContext, loadScreen, type Screen } from './screen.ts';

/** Enough to choose from. */
const MAX_LISTED = 10;

/** Shown after Allow, if the user or the business has as many connections with external apps as they may. */
export async function showBoundReached(
  deps: WebDeps,
  reply: FastifyReply,
  consent: ConsentContext,
  of: Bounded,
): Promise<FastifyReply> {
  const { storage, clock, platformName, issuer, externalClients } = deps;
  const screen = await loadScreen(deps, consent);
  const max = externalClients.bounds[of];
  // The newest uses may still be in memory.
  await deps.requestLog.flush();
  const least = await listLeastUsed(storage.durable, sideOf(screen, of), { max, limit: MAX_LISTED }, clock());
  const { texts, authRequest } = screen;
  const { bounds, restriction } = texts;
  const { app } = authRequest;
  const title = bounds.title(app.name);
  const body = html`<div class="card consent"><div class="requester">
<div class="parties" aria-hidden="true">${appAvatar(app, 'lg')}</div>
<h1>${bounds.title(bdi(app.name))}</h1>
<p>${reached(screen, of, { max, platformName })}</p>
</div>
${least.length > 0 && leastUsed(screen, least)}
${of === 'business' && screen.context.current?.role !== 'owner' && html`<p>${bounds.askOwner}</p>`}
<p><a href="${authorizeUrl(deps, consent.state.query)}">${bounds.tryAgain}</a></p>
${postForm({
  action: '/consent',
  csrf: screen.context.csrf,
  body: html`<input type="hidden" name="consent_state" value="${screen.state}">
<input type="hidden" name="return_to" value="${screen.context.path}">
<div class="form-actions"><button class="secondary" name="decision" value="deny"><span>${restriction.back(bdi(app.name))}</span></button></div>`,
})}</div>`;
  const page = { title, texts, platformName, width: 'narrow', runsScript: false, body } as const;
  return sendPage(reply, page, { status: 409, formTargets: [cspSource(authRequest.callback.redirectUri), issuer] });
}

/** Owners disconnect the apps of everybody, others their own. */
function sideOf({ context: { user, current } }: Screen, of: Bounded): Side {
  if (of === 'user' || !current) return { userId: user.id };
  const { businessId } = current;
  return current.role === 'owner' ? { businessId } : { businessId, userId: user.id };
}

function reached(
  { texts: { bounds, formats }, context: { current } }: Screen,
  of: Bounded,
  { max, platformName }: { max: number; platformName: string },
): Html {
  const [count, platform] = [formats.number(max), bdi(platformName)];
  return of === 'user'
    ? bounds.ofUser(count, platform)
    : bounds.ofBusiness(bdi(current?.businessName ?? ''), count, platform);
}

function leastUsed({ texts, context: { user } }: Screen, connections: ExternalConnection[]): Html {
  const { bounds } = texts;
  const rows = connections.map(({ appId, appName, userId, userName, businessId, businessName, usedAt }) => {
    const [app, business] = [{ id: appId }, { id: businessId }];
    const path = connectionPath({ app, business, user: { id: userId } });
    const whose = userId === user.id ? bdi(businessName) : html`${bdi(userName)}, ${bdi(businessName)}`;
    return html`<li class="entry"><div><a href="${path}">${bdi(appName)}</a>
<p class="muted small">${whose}</p></div><div class="meta muted small"><span>${bounds.lastUsed(time(usedAt, texts))}</span></div></li>`;
  });
  const [first] = connections;
  const all = first && html`<p><a href="${connectedAppsPath(first)}">${bounds.all}</a></p>`;
  return html`<h2>${bounds.disconnectOne}</h2><ul class="rows">${rows}</ul>${all}`;
}
