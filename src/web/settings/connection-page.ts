import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type ConnectedUsers, countConnectedUsers } from '../../grants/connected-users.ts';
import { type Connection, listConnections } from '../../grants/connections.ts';
import { formatCount, MAX_READ_IN_LIST } from '../../grants/counts.ts';
import { findHandover, type Handover } from '../../grants/handover-rows.ts';
import { canNarrow } from '../../grants/narrowing.ts';
import { en } from '../../languages/en.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { resourceUri } from '../../oauth/resource-indicators.ts';
import { listScopes, type Scope } from '../../oauth/scopes.ts';
import { access } from '../access.ts';
import { appAvatar, appLinks, verifiedBadge } from '../app-identity-views.ts';
import { businessPath } from '../business-address.ts';
import { notice } from '../components/display.ts';
import { appBadges } from '../components/product.ts';
import { backLink, dangerZone, section, settings } from '../components/structure.ts';
import { day } from '../days.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { postForm, time } from '../forms.ts';
import { sendPage } from '../layout.ts';
import { publisherLine } from '../publisher.ts';
import {
  assistantBadge,
  connectedForText,
  disconnectButton,
  isAssistant,
  suspendedReason,
  type Viewer,
} from './connection-views.ts';
import { authorityPath, CONNECTED_APPS, connectedAppsPath, disconnectPath } from './disconnecting.ts';
import { loadMembersContext, type MembersContext } from './members.ts';
import { narrowingPath } from './narrowing.ts';

type Route = { Params: { app: string; user: string } };

/** What one app may do for one person, or for the business, and how it has used that. */
export function mountConnectionPage(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, platformName } = deps;

  host.get<Route>(`${CONNECTED_APPS}/:app/:user`, access('member'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    const connection = await requireVisible(deps, context, request);
    const { app, business } = connection;
    const pair = { appId: app.id, businessId: business.id };
    const counted = await countConnectedUsers(storage.durable, pair, clock(), MAX_READ_IN_LIST);
    const key = { appId: app.id, businessId: business.id, userId: connection.user.id };
    const handover = await findHandover(storage.durable, key, clock());
    const body = connectionBody(context, { connection, counted, handover, deps });
    return sendPage(reply, { title: app.name, platformName, width: 'wide', context, body });
  });
}

/** 404 for connections of others, except for owners, and except those for the business. */
async function requireVisible(
  deps: WebDeps,
  { user, business, isOwner }: MembersContext,
  { params }: FastifyRequest<Route>,
): Promise<Connection> {
  const { app: appId, user: userId } = params;
  if (!isId(appId) || !isId(userId)) throw notFound();
  // The newest uses may still be in memory.
  await deps.requestLog.flush();
  const filter = { businessIds: [business.businessId], appId, userId };
  const [connection] = await listConnections(deps.storage.durable, filter, deps.clock());
  const isVisible = isOwner || userId === user.id || connection?.connectedFor === 'business';
  if (!connection || !isVisible) throw notFound();
  return connection;
}

interface Shown {
  connection: Connection;
  /** How many users of the business have connected the app. */
  counted: ConnectedUsers;
  handover: Handover | undefined;
  deps: WebDeps;
}

function connectionBody(context: MembersContext, { connection, counted, handover, deps }: Shown): Html {
  const { app } = connection;
  const viewer = { userId: context.user.id, isOwner: context.isOwner, csrf: context.csrf };
  const suspended = suspendedReason(connection, deps.platformName);
  return html`${backLink({ to: connectedAppsPath(context.business), name: 'Connected apps' })}
<div class="head"><div class="with-avatar">${appAvatar(app, 'lg')}<div><h1>${app.name} ${appBadges(app)} ${verifiedBadge(app)} ${isAssistant(connection) && assistantBadge}</h1>
<p class="muted">${origin(connection, context, deps)}</p></div></div>
<div class="actions">${authorityLink(connection, viewer)}</div></div>
${suspended && notice(suspended, 'warn')}
${!connection.isLive && notice(NO_ACCESS)}
${handover && waitingHandover(connection, handover, viewer)}
${factSection(connection, viewer, deps)}
${permissionSection(connection, viewer)}
${endSection(connection, viewer, counted)}`;
}

const NO_ACCESS = 'It has no access now, but can get it again without asking you. Disconnect it to be asked again.';

/** Who made the app, or where an app that is not registered here describes itself. */
function origin(
  { app, ownerBusiness }: Connection,
  { memberships }: MembersContext,
  { platformName }: WebDeps,
): Html | string {
  if (app.ownerScope === 'platform') return `Part of ${platformName}`;
  if (app.ownerScope !== 'external')
    return publisherLine(app, ownerBusiness?.name ?? '', { memberships, platformName });
  const host = URL.parse(app.externalClientId ?? '')?.host;
  return host ? `From ${host}` : 'Registered itself, so its name is all that is known about it';
}

/** Owners decide which of them is responsible for a connection of the business. */
function authorityLink(connection: Connection, viewer: Viewer): Html | null {
  const { app, user, connectedFor } = connection;
  if (connectedFor !== 'business' || !viewer.isOwner) return null;
  const label = user.id === viewer.userId ? 'Hand over' : 'Take over';
  return html`<a class="button secondary" href="${authorityPath(connection)}" aria-label="${label} ${app.name} from ${user.name}">${label}…</a>`;
}

/** The person who is responsible can withdraw it, also one who is not an owner. Owners do so on the page of the hand-over. */
function waitingHandover(
  connection: Connection,
  { expiresAt }: Handover,
  { userId, isOwner, csrf }: Viewer,
): Html | null {
  if (isOwner) {
    return html`<p class="notice">A hand-over to another owner waits until ${time(expiresAt)}. <a href="${authorityPath(connection)}">See it</a></p>`;
  }
  if (userId !== connection.user.id) return null;
  return html`<p class="notice">Another owner was asked to become responsible for it, until ${time(expiresAt)}.</p>
${postForm({ action: `${authorityPath(connection)}/answer`, csrf, body: html`<button class="secondary" name="answer" value="withdraw">Withdraw the hand-over</button>` })}`;
}

function factSection(connection: Connection, viewer: Viewer, { issuer }: WebDeps): Html {
  const { since, expiresAt, lastUsedAt, tokensFetchedAt, lastScope, resources, app } = connection;
  const [last] = listScopes(lastScope ? [lastScope] : []);
  const fact = (name: string, value: Html | string) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  const body = html`<dl class="facts">
${fact('Connected', connectedForText(connection, viewer))}
${fact('Since', time(since))}
${fact('Ends', expiresAt === null ? 'When it is disconnected' : day(expiresAt))}
${fact('Last used', lastUsedAt === null ? 'Not in the last 30 days' : time(lastUsedAt))}
${tokensFetchedAt !== null && fact('Last fetched tokens', time(tokensFetchedAt))}
${isAssistant(connection) && last && fact('Last call', last.meaning)}
${resources.map((resource) => fact('Address', html`<code>${resourceUri(issuer, resource)}</code>`))}
</dl>
${appLinks(app.identity)}`;
  return settings({ title: 'Connection', intro: 'Since when, until when, and for whom.', body });
}

function permissionSection(connection: Connection, viewer: Viewer): Html {
  return section({
    title: 'Permissions',
    intro: 'Usage counts cover the last 30 days.',
    actions: narrowLink(connection, viewer) ?? false,
    body: html`<h3 class="muted small">Can</h3>
<div class="columns">${scopeList('read', connection, PROFILE)}${scopeList('write', connection)}</div>`,
  });
}

/** The last scope is not withdrawn but disconnected. Others than owners change only their own connections. */
function narrowLink({ app, user, business, scopes }: Connection, viewer: Viewer): Html | null {
  if (!canNarrow(app) || scopes.length < 2 || (user.id !== viewer.userId && !viewer.isOwner)) return null;
  return html`<a class="button secondary" href="${narrowingPath({ app, business, user })}" aria-label="Change what ${app.name} may do for ${user.name} in ${business.name}">Change…</a>`;
}

/** Every app can read it, whatever its scopes. */
const PROFILE = html`<li>${en.consent.nameAndEmail}</li>`;

function scopeList(kind: Scope['kind'], { scopes, uses }: Connection, first?: Html): Html | null {
  const listed = listScopes(scopes).filter((scope) => scope.kind === kind);
  if (listed.length === 0 && !first) return null;
  return html`<ul class="scopes ${kind}">${first}${listed.map(
    ({ name, meaning }) => html`<li>${meaning} <span class="muted small uses">${useText(uses.get(name))}</span></li>`,
  )}</ul>`;
}

function useText(uses: number | undefined): string {
  if (!uses) return 'not used';
  return uses === 1 ? 'used once' : `used ${uses.toLocaleString('en')} times`;
}

/** For one person, and, by owners, for everyone. */
function endSection(connection: Connection, viewer: Viewer, counted: ConnectedUsers): Html | null {
  const { app, user, business } = connection;
  const one = disconnectButton(connection, viewer);
  if (!one) return null;
  const canBlock = viewer.isOwner && app.ownerScope !== 'platform';
  return dangerZone([
    {
      title: user.id === viewer.userId ? 'Disconnect it' : `Disconnect it for ${user.name}`,
      text: 'It loses its access at once. It can be allowed again.',
      action: one,
    },
    viewer.isOwner &&
      (counted.users > 1 || counted.isPart) && {
        title: 'Disconnect it for everyone',
        text: `Connected by ${formatCount(counted.users, counted)} people. Anyone can allow it again.`,
        action: html`<a class="button danger" href="${disconnectPath(business, app)}" aria-label="Disconnect for everyone: ${app.name}">Disconnect for everyone…</a>`,
      },
    canBlock && {
      title: 'Block it',
      text: 'It loses its access at once, and nobody can connect it again until you unblock it.',
      action: html`<a class="button danger" href="${businessPath({ businessId: business.id }, `settings/apps/${app.id}/block`)}" aria-label="Block ${app.name}">Block…</a>`,
    },
  ]);
}
