import type { Connection } from '../../grants/connections.ts';
import { canNarrow } from '../../grants/narrowing.ts';
import { boundBusiness } from '../../grants/tenancy.ts';
import { type Html, html } from '../../lib/html.ts';
import { resourceUri } from '../../oauth/resource-indicators.ts';
import { listScopes, type Scope } from '../../oauth/scopes.ts';
import { appAvatar } from '../app-identity-views.ts';
import { businessPath } from '../business-address.ts';
import { appBadges, makerName } from '../components.ts';
import { day } from '../days.ts';
import { postForm, time } from '../forms.ts';
import { authorityPath, connectedAppsPath, disconnectPath } from './disconnecting.ts';
import { narrowingPath } from './narrowing.ts';

export interface Viewer {
  userId: string;
  /** Whether they own the business. */
  isOwner: boolean;
  csrf: string;
  platformName: string;
  /** The URL of the API host, below which the MCP servers are. */
  issuer: string;
}

/** One card per app, with all of its users on this page. */
export function appCards(connections: Connection[], viewer: Viewer, { forEveryone }: CardOptions): Html {
  const groups = [...Map.groupBy(connections, ({ app }) => app.id).values()];
  const named = groups.flatMap((people) => people.slice(0, 1).map((first) => ({ ...first, people })));
  named.sort((a, b) => a.app.name.localeCompare(b.app.name));
  return html`<ul class="cards">${named.map((card) => appCard(card, viewer, forEveryone(card.people)))}</ul>`;
}

interface CardOptions {
  /** Whether to offer to disconnect the app for everyone at once. */
  forEveryone: (people: Connection[]) => boolean;
}

type Card = Connection & { people: Connection[] };

function appCard({ people, ...first }: Card, viewer: Viewer, forEveryone: boolean): Html {
  const { app, business } = first;
  return html`<li class="card">
<div class="head"><div class="with-avatar">${appAvatar(app)}<div><h2>${app.name} ${appBadges(app)} ${people.some(isAssistant) && assistantBadge}</h2>
<p class="muted small">${origin(first, viewer)}</p></div></div>
<div class="actions">
${forEveryone && html`<a class="button quiet" href="${disconnectPath(business, app)}" aria-label="Disconnect for everyone: ${app.name}">Disconnect for everyone…</a>`}
${viewer.isOwner && app.ownerScope !== 'platform' && html`<a class="button quiet" href="${businessPath({ businessId: business.id }, `settings/apps/${app.id}/block`)}" aria-label="Block ${app.name}">Block…</a>`}</div></div>
${suspendedNotice(people[0], viewer.platformName)}
<ul class="people">${people.map((connection) => person(connection, viewer))}</ul>
</li>`;
}

/** An app that is not registered here can only connect to an MCP server. */
function isAssistant({ app, resources }: Connection): boolean {
  return app.ownerScope === 'external' || resources.length > 0;
}

const assistantBadge = html`<span class="badge">AI assistant</span>`;

/** Who made the app, or where an app that is not registered here describes itself. */
function origin({ app, ownerBusiness }: Connection, { platformName }: Viewer): string {
  if (app.ownerScope === 'platform') return `Part of ${platformName}`;
  if (app.ownerScope !== 'external') return `By ${makerName(app, ownerBusiness?.name, platformName)}`;
  const host = URL.parse(app.externalClientId ?? '')?.host;
  return host ? `From ${host}` : 'Registered itself, so its name is all that is known about it';
}

/** Why the app has no access for any user of the business. */
function suspendedNotice(connection: Connection | undefined, platformName: string): Html | false {
  if (!connection) return false;
  const { app, business } = connection;
  const bound = boundBusiness(app);
  const isClosed = bound !== null && bound !== business.id;
  if (app.pausedAt !== null)
    return notice(`${platformName} has paused this app everywhere. Until it is resumed, it has no access.`);
  if (app.disabledAt !== null)
    return notice('Its developer has disabled this app. Until it is enabled, it has no access.');
  return isClosed && notice('Its developer has closed this app to other businesses. It has no access now.');
}

function notice(sentence: string): Html {
  return html`<p class="notice warn">${sentence}</p>`;
}

function person(connection: Connection, viewer: Viewer): Html {
  const { business, scopes, since, expiresAt, isLive, uses } = connection;
  return html`<li class="person">
<div class="head"><p>${whose(connection, viewer)}<br>
<span class="muted small">In ${business.name}, since ${time(since)}, ${untilText(expiresAt)}${lastUse(connection)}</span></p>
<div>${authorityLink(connection, viewer)}
${narrowLink(connection, viewer)}
${disconnectButton(connection, viewer)}</div></div>
${isAssistant(connection) && assistantFacts(connection, viewer)}
${!isLive && html`<p class="notice">${NO_ACCESS}</p>`}
${scopeList('May see', 'read', { scopes, uses })}
${scopeList('May change', 'write', { scopes, uses })}
</li>`;
}

function whose({ user, business, connectedFor }: Connection, viewer: Viewer): Html {
  const you = user.id === viewer.userId && html`<span class="badge">You</span>`;
  if (connectedFor === 'user') return html`<strong>${user.name}</strong> ${you}`;
  return html`<strong>For ${business.name}</strong>, under the authority of ${user.name} ${you}`;
}

/** Owners decide which of them answers for a connection of the business. */
function authorityLink(connection: Connection, viewer: Viewer): Html | null {
  const { app, user, connectedFor } = connection;
  if (connectedFor !== 'business' || !viewer.isOwner) return null;
  const label = user.id === viewer.userId ? 'Hand over' : 'Take over';
  return html`<a class="button quiet" href="${authorityPath(connection)}" aria-label="${label} ${app.name} from ${user.name}">${label}…</a>`;
}

function untilText(expiresAt: number | null): Html | null {
  return expiresAt === null ? null : html`until ${day(expiresAt)}, `;
}

/** The last scope is not withdrawn but disconnected. Others than owners change only their own connections. */
function narrowLink({ app, user, business, scopes }: Connection, viewer: Viewer): Html | null {
  if (!canNarrow(app) || scopes.length < 2 || (user.id !== viewer.userId && !viewer.isOwner)) return null;
  return html`<a class="button quiet" href="${narrowingPath({ app, business, user })}" aria-label="Change what ${app.name} may do for ${user.name} in ${business.name}">Change…</a>`;
}

function assistantFacts({ resources, lastScope }: Connection, { issuer }: Viewer): Html | false {
  const [last] = listScopes(lastScope ? [lastScope] : []);
  const lines = [
    ...resources.map((resource) => html`At <code>${resourceUri(issuer, resource)}</code>`),
    ...(last ? [html`Last call: ${last.meaning}`] : []),
  ];
  return (
    lines.length > 0 && html`<p class="muted small">${lines.map((line, i) => html`${i > 0 && html`<br>`}${line}`)}</p>`
  );
}

/** Fetching tokens uses no scope, so it is not in the usage counts either. */
function lastUse({ lastUsedAt, tokensFetchedAt }: Connection): Html {
  if (lastUsedAt !== null) return html`last used ${time(lastUsedAt)}`;
  return html`not used lately${tokensFetchedAt !== null && html`, last fetched tokens ${time(tokensFetchedAt)}`}`;
}

const NO_ACCESS = 'It has no access now, but may come back without asking. Disconnect it to be asked again.';

/** Users disconnect their own apps with one click; owners confirm before they disconnect those of others. */
function disconnectButton({ app, user, business }: Connection, viewer: Viewer): Html | null {
  if (user.id !== viewer.userId && !viewer.isOwner) return null;
  if (user.id !== viewer.userId) {
    return html`<a class="button danger" href="${disconnectPath(business, app, user)}" aria-label="Disconnect ${app.name} for ${user.name}">Disconnect…</a>`;
  }
  return postForm({
    action: `${connectedAppsPath({ businessId: business.id })}/disconnect`,
    csrf: viewer.csrf,
    body: html`<input type="hidden" name="app" value="${app.id}">
<button class="danger" aria-label="Disconnect ${app.name} from ${business.name}">Disconnect</button>`,
  });
}

function scopeList(
  heading: string,
  kind: Scope['kind'],
  { scopes, uses }: Pick<Connection, 'scopes' | 'uses'>,
): Html | null {
  const listed = listScopes(scopes).filter((scope) => scope.kind === kind);
  if (listed.length === 0) return null;
  return html`<h3 class="muted small">${heading}</h3>
<ul class="scopes ${kind}">${listed.map(
    ({ name, meaning }) => html`<li>${meaning} <span class="muted small">${useText(uses.get(name))}</span></li>`,
  )}</ul>`;
}

function useText(uses: number | undefined): string {
  if (!uses) return 'not used';
  return uses === 1 ? 'used once' : `used ${uses} times`;
}

/** Short rows, for connections in other businesses. */
export function otherBusinessRows(connections: Connection[], viewer: Viewer): Html {
  return html`<ul class="rows">${connections.map((connection) => {
    const { app, business, since, expiresAt, tokensFetchedAt, isLive, scopes } = connection;
    return html`<li><div><strong>${app.name}</strong> ${appBadges(app)} ${isAssistant(connection) && assistantBadge}
<p class="muted small">In ${business.name}, since ${time(since)}${expiresAt !== null && html`, until ${day(expiresAt)}`}${isLive && tokensFetchedAt !== null && html`, last fetched tokens ${time(tokensFetchedAt)}`}</p>
<p class="small">${listScopes(scopes).map(({ meaning }) => html`${meaning}. `)}</p>
${!isLive && html`<p class="small">${NO_ACCESS}</p>`}</div>
${narrowLink(connection, viewer)}${disconnectButton(connection, viewer)}</li>`;
  })}</ul>`;
}
