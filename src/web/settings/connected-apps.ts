import type { FastifyInstance } from 'fastify';
import type { ConnectionFilter } from '../../grants/connection-rows.ts';
import { type Connection, listConnections } from '../../grants/connections.ts';
import { listProgress, type Progress } from '../../grants/follow-up-progress.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { access } from '../access.ts';
import { emptyState } from '../components/display.ts';
import { followUpProgress } from '../components/follow-up-progress.ts';
import { icon } from '../components/icon.ts';
import { dangerZone, list, pageHead, section } from '../components/structure.ts';
import { endConnectionsAction } from '../connection-ends.ts';
import type { WebDeps } from '../deps.ts';
import { sendPage } from '../layout.ts';
import { type Listing, pager, readListing, searchForm } from '../listing.ts';
import { mountAuthority } from './authority.ts';
import { mountConnectionPage } from './connection-page.ts';
import { connectionRows, type Viewer } from './connection-views.ts';
import { CONNECTED_APPS, connectedAppsPath, mountDisconnecting } from './disconnecting.ts';
import { END_CONNECTIONS } from './end-connections.ts';
import { loadMembersContext, type MembersContext } from './members.ts';
import { mountNarrowing } from './narrowing.ts';
import { mountStaffAndMoney, staffAndMoneyQuestion } from './staff-and-money.ts';

const PER_PAGE = 25;
const MAX_ELSEWHERE = 8;

export function mountConnectedApps(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, platformName } = deps;

  host.get(CONNECTED_APPS, access('member'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    // The newest uses may still be in memory.
    await deps.requestLog.flush();
    const listing = readConnectionListing(request.query);
    const here = await listConnections(storage.durable, filterHere(context, listing), clock());
    const elsewhere = await listConnections(storage.durable, filterElsewhere(context, listing), clock());
    const progress = await listProgress(storage.durable, followUpsOf(context));
    const isWhereOwnersLand = listing.after === undefined && listing.search === '';
    const question = isWhereOwnersLand ? await staffAndMoneyQuestion(deps, context) : null;
    const body = listBody(context, { listing, here, elsewhere, progress, question }, deps);
    return sendPage(reply, { title: 'Connected apps', platformName, width: 'wide', context, body });
  });

  mountConnectionPage(host, deps);
  mountDisconnecting(host, deps);
  mountAuthority(host, deps);
  mountNarrowing(host, deps);
  mountStaffAndMoney(host, deps);
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

/** Owners see the connections of all members, others their own and those for the business. One more than is shown. */
function filterHere(context: MembersContext, { search, from }: ConnectionListing): ConnectionFilter {
  return {
    businessIds: [context.business.businessId],
    ...(!context.isOwner && { userId: context.user.id, forBusiness: 'too' }),
    search,
    after: from,
    limit: PER_PAGE + 1,
  };
}

/** The user's own connections in their other businesses, on the first page only. */
function filterElsewhere(
  { user, business, memberships }: MembersContext,
  { search, from }: ConnectionListing,
): ConnectionFilter {
  const others = memberships.map(({ businessId }) => businessId).filter((id) => id !== business.businessId);
  return { businessIds: from ? [] : others, userId: user.id, search, limit: MAX_ELSEWHERE + 1 };
}

/** Owners see the follow-ups of the business, and everyone their own. */
function followUpsOf({ user, business, isOwner }: MembersContext) {
  return { userId: user.id, ...(isOwner && { businessId: business.businessId }) };
}

interface Found {
  progress: Progress[];
  listing: ConnectionListing;
  here: Connection[];
  elsewhere: Connection[];
  question: Html | null;
}

function listBody(context: MembersContext, found: Found, deps: WebDeps): Html {
  const { listing, here, elsewhere, progress, question } = found;
  const { search, after } = listing;
  const shown = here.slice(0, PER_PAGE);
  const last = shown.at(-1);
  const next = here.length > PER_PAGE && last ? `${last.app.id}.${last.user.id}` : undefined;
  const { isOwner, csrf, business, user } = context;
  const path = connectedAppsPath(business);
  const viewer = { userId: user.id, isOwner, csrf, businessId: business.businessId };
  const isLong = shown.length > 1 || elsewhere.length > 0 || next || after || search;
  return html`${pageHead({
    title: 'Connected apps',
    intro: `${isOwner ? `Apps that you and other members have connected to ${business.businessName}.` : 'Apps that you have connected to your businesses, and apps that are connected for the business.'} Disconnecting an app ends its access at once.`,
    actions: deps.servesMcp && html`<a class="button" href="${path}/assistant">${icon('bot')}Connect an assistant</a>`,
  })}
${followUpProgress(progress)}
${question}
${isLong && searchForm({ path, search, label: isOwner ? 'Search by app or person' : 'Search by app' })}
${shown.length > 0 ? list(connectionRows(shown, viewer)) : emptyState({ icon: 'blocks', text: emptySentence(context, listing, elsewhere) })}
${pager({ path, search, after }, next)}
${elsewhere.length > 0 && elsewhereSection(elsewhere, viewer)}
${dangerZone([endConnectionsAction(END_CONNECTIONS)])}`;
}

function elsewhereSection(elsewhere: Connection[], viewer: Viewer): Html {
  const more = elsewhere.length > MAX_ELSEWHERE;
  return section({
    title: 'Your connections in other businesses',
    body: html`<ul class="rows">${connectionRows(elsewhere.slice(0, MAX_ELSEWHERE), viewer)}</ul>
${more && html`<p class="muted small">There are more. Switch to a business above to see all that you have connected there.</p>`}`,
  });
}

function emptySentence(context: MembersContext, { search, after }: Listing, elsewhere: Connection[]): string {
  const { businessName: business } = context.business;
  if (search) return `No connection in ${business} matches “${search}”.`;
  if (after) return 'There are no more.';
  if (context.isOwner) return `No app is connected to ${business}. Apps that members allow are listed here.`;
  if (elsewhere.length > 0) return `You have not connected an app to ${business}.`;
  return 'You have not connected an app yet. Apps that you allow are listed here.';
}
