import type { FastifyInstance } from 'fastify';
import type { ConnectionFilter } from '../../grants/connection-rows.ts';
import { type Connection, listConnections } from '../../grants/connections.ts';
import { boundBusiness } from '../../grants/tenancy.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { listScopes, type Scope } from '../../oauth/scopes.ts';
import { access } from '../access.ts';
import { appBadges, makerName } from '../components.ts';
import type { WebDeps } from '../deps.ts';
import { postForm, time } from '../forms.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { type Listing, pager, readListing, searchForm } from '../listing.ts';
import { loadPageContext } from '../page-context.ts';
import { CONNECTED_APPS, mountDisconnecting } from './disconnecting.ts';

/** Fewer than on other lists: a connection takes many lines. */
const PER_PAGE = 15;
const MAX_ELSEWHERE = 8;

export function mountConnectedApps(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, platformName } = deps;

  host.get(CONNECTED_APPS, access('signed_in'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    // The newest uses may still be in memory.
    await deps.requestLog.flush();
    const listing = readConnectionListing(request.query);
    const here = await listConnections(storage.durable, filterHere(context, listing), clock());
    const elsewhere = await listConnections(storage.durable, filterElsewhere(context, listing), clock());
    const body = listBody(context, { listing, here, elsewhere }, platformName);
    return sendPage(reply, { title: 'Connected apps', platformName, width: 'wide', context, body });
  });

  mountDisconnecting(host, deps);
}

interface ConnectionListing extends Listing {
  from: ConnectionFilter['after'];
}

/** A connection has no id: the cursor is an app and a user. */
function readConnectionListing(query: unknown): ConnectionListing {
  const { after } = (query ?? {}) as { after?: unknown };
  const [appId = '', userId = '', ...more] = typeof after === 'string' ? after.split('.') : [];
  const from = isId(appId) && isId(userId) && more.length === 0 ? { appId, userId } : undefined;
  return { search: readListing(query).search, after: from && `${appId}.${userId}`, from };
}

/** Owners see the connections of all members, others their own. One more than is shown. */
function filterHere(context: PageContext, { search, from }: ConnectionListing): ConnectionFilter {
  const businessIds = context.current ? [context.current.businessId] : [];
  return {
    businessIds,
    userId: isOwner(context) ? undefined : context.user.id,
    search,
    after: from,
    limit: PER_PAGE + 1,
  };
}

/** The user's own connections in their other businesses, on the first page only. */
function filterElsewhere(
  { user, current, memberships }: PageContext,
  { search, from }: ConnectionListing,
): ConnectionFilter {
  const others = memberships.map(({ businessId }) => businessId).filter((id) => id !== current?.businessId);
  return { businessIds: from ? [] : others, userId: user.id, search, limit: MAX_ELSEWHERE + 1 };
}

function isOwner({ current }: PageContext): boolean {
  return current?.role === 'owner';
}

interface Found {
  listing: ConnectionListing;
  here: Connection[];
  elsewhere: Connection[];
}

function listBody(context: PageContext, { listing, here, elsewhere }: Found, platformName: string): Html {
  const { search, after } = listing;
  const shown = here.slice(0, PER_PAGE);
  const last = shown.at(-1);
  const next = here.length > PER_PAGE && last ? `${last.app.id}.${last.user.id}` : undefined;
  const viewer = { userId: context.user.id, csrf: context.csrf, platformName };
  const isWhole = !next && !after && !search;
  const forEveryone = (people: Connection[]) => isOwner(context) && (people.length > 1 || !isWhole);
  const isLong = shown.length > 1 || elsewhere.length > 0 || !isWhole;
  return html`<h1>Connected apps</h1>
<p class="muted">${isOwner(context) ? `Apps that you and other members have connected to ${context.current?.businessName}.` : 'Apps that you have connected to your businesses.'} Disconnecting an app ends its access at once.</p>
${isLong && searchForm({ path: CONNECTED_APPS, search, label: isOwner(context) ? 'Search by app or person' : 'Search by app' })}
${shown.length > 0 && html`<p class="muted small">Usage counts cover the last 30 days.</p>`}
${shown.length === 0 && html`<p class="empty">${emptySentence(context, listing, elsewhere)}</p>`}
${appCards(shown, viewer, { forEveryone })}
${pager({ path: CONNECTED_APPS, search, after }, next)}
${
  elsewhere.length > 0 &&
  html`<section class="card"><h2>Your connections in other businesses</h2>
${otherBusinessRows(elsewhere.slice(0, MAX_ELSEWHERE), viewer)}
${elsewhere.length > MAX_ELSEWHERE && html`<p class="muted small">There are more. Switch to a business above to see all that you have connected there.</p>`}</section>`
}`;
}

const NO_BUSINESS =
  'You are not a member of any business yet, so no app can act for you. Ask an owner of your business for an invitation link.';

function emptySentence(context: PageContext, { search, after }: Listing, elsewhere: Connection[]): string {
  const business = context.current?.businessName;
  if (!business) return NO_BUSINESS;
  if (search) return `No connection in ${business} matches “${search}”.`;
  if (after) return 'There are no more.';
  if (isOwner(context)) return `No app is connected to ${business}. Apps that members allow are listed here.`;
  if (elsewhere.length > 0) return `You have not connected an app to ${business}.`;
  return 'You have not connected an app yet. Apps that you allow are listed here.';
}

interface Viewer {
  userId: string;
  csrf: string;
  platformName: string;
}

/** One card per app, with all of its users on this page. */
function appCards(connections: Connection[], viewer: Viewer, { forEveryone }: CardOptions): Html {
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

function appCard({ app, ownerBusiness: maker, business, people }: Card, viewer: Viewer, forEveryone: boolean): Html {
  return html`<li class="card">
<div class="head"><h2>${app.name} ${appBadges(app)}</h2>
${forEveryone && html`<a class="button quiet" href="${CONNECTED_APPS}/${business.id}/${app.id}/disconnect" aria-label="Disconnect for everyone: ${app.name}">Disconnect for everyone…</a>`}</div>
<p class="muted">${app.ownerScope === 'platform' ? `Part of ${viewer.platformName}` : `By ${makerName(app, maker?.name, viewer.platformName)}`}</p>
${suspendedNotice(people[0], viewer.platformName)}
<ul class="people">${people.map((connection) => person(connection, viewer))}</ul>
</li>`;
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
  const { user, business, scopes, since, isLive, uses } = connection;
  return html`<li class="person">
<div class="head"><p><strong>${user.name}</strong> ${user.id === viewer.userId && html`<span class="badge">You</span>`}<br>
<span class="muted small">In ${business.name}, since ${time(since)}, ${lastUse(connection)}</span></p>
${disconnectButton(connection, viewer)}</div>
${!isLive && html`<p class="notice">${NO_ACCESS}</p>`}
${scopeList('May see', 'read', { scopes, uses })}
${scopeList('May change', 'write', { scopes, uses })}
</li>`;
}

/** Fetching tokens uses no scope, so it is not in the usage counts either. */
function lastUse({ lastUsedAt, tokensFetchedAt }: Connection): Html {
  if (lastUsedAt !== null) return html`last used ${time(lastUsedAt)}`;
  return html`not used lately${tokensFetchedAt !== null && html`, last fetched tokens ${time(tokensFetchedAt)}`}`;
}

const NO_ACCESS = 'It has no access now, but may come back without asking. Disconnect it to be asked again.';

/** Users disconnect their own apps with one click; owners confirm before they disconnect those of others. */
function disconnectButton({ app, user, business }: Connection, viewer: Viewer): Html {
  if (user.id !== viewer.userId) {
    return html`<a class="button danger" href="${CONNECTED_APPS}/${business.id}/${app.id}/${user.id}/disconnect" aria-label="Disconnect ${app.name} for ${user.name}">Disconnect…</a>`;
  }
  return postForm({
    action: `${CONNECTED_APPS}/disconnect`,
    csrf: viewer.csrf,
    body: html`<input type="hidden" name="app" value="${app.id}">
<input type="hidden" name="business" value="${business.id}">
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
function otherBusinessRows(connections: Connection[], viewer: Viewer): Html {
  return html`<ul class="rows">${connections.map((connection) => {
    const { app, business, since, tokensFetchedAt, isLive, scopes } = connection;
    return html`<li><div><strong>${app.name}</strong> ${appBadges(app)}
<p class="muted small">In ${business.name}, since ${time(since)}${isLive && tokensFetchedAt !== null && html`, last fetched tokens ${time(tokensFetchedAt)}`}</p>
<p class="small">${listScopes(scopes).map(({ meaning }) => html`${meaning}. `)}</p>
${!isLive && html`<p class="small">${NO_ACCESS}</p>`}</div>
${disconnectButton(connection, viewer)}</li>`;
  })}</ul>`;
}
