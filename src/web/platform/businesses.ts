import type { FastifyInstance } from 'fastify';
import { type Business, findBusiness, searchBusinesses } from '../../accounts/businesses.ts';
import { listMembers, type Member } from '../../accounts/memberships.ts';
import { type OwnedApp, searchApps } from '../../apps/app-search.ts';
import { countAffected, type Impact } from '../../grants/impact.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { appAvatar } from '../app-identity-views.ts';
import { avatar, emptyState } from '../components/display.ts';
import { appBadges, pluralize, pluralizeCount, roleBadge } from '../components/product.ts';
import { pageHead, section, settings } from '../components/structure.ts';
import { day } from '../days.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { copyable, time } from '../forms.ts';
import { PAGE_SIZE, pager, readListing, searchForm, takePage } from '../listing.ts';
import { loadPageContext } from '../page-context.ts';
import { mountPlatformList, sendPlatformPage } from './page.ts';
import { userBadges } from './users.ts';

const PATH = '/platform/businesses';
const APPS_SHOWN = 50;

/** All businesses of the platform. */
export function mountBusinesses(host: FastifyInstance, deps: WebDeps): void {
  mountPlatformList(host, deps, {
    path: PATH,
    title: 'Businesses',
    intro: 'Every business, with its members and apps.',
    label: 'Search by name or ID',
    search: (terms) => searchBusinesses(deps.storage.durable, terms),
    toRows: (businesses) => businesses.map(businessRow),
  });
  mountBusiness(host, deps);
}

function businessRow({ id, name, createdAt, members }: Business & { members: number }): Html {
  return html`<li class="entry">${avatar({ id, name, shape: 'square' })}<div><a href="${PATH}/${id}">${name}</a>
<p class="muted small">${pluralize(members, 'member', 'members')}</p></div>
<div class="meta muted small"><span>Since ${day(createdAt)}</span><code>${id}</code></div></li>
`;
}

function mountBusiness(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  host.get<{ Params: { id: string } }>(`${PATH}/:id`, access('platform_admin'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const db = storage.durable;
    const business = await findBusiness(db, request.params.id);
    if (!business) throw notFound();
    const listing = { ...readListing(request.query), path: `${PATH}/${business.id}` };
    const { shown, next } = takePage(await listMembers(db, business.id, { ...listing, limit: PAGE_SIZE + 1 }));
    const apps = await searchApps(db, { search: business.id, after: undefined, limit: APPS_SHOWN + 1 });
    const impact = await countAffected(db, { businessId: business.id }, clock());
    const none = listing.search ? `No member found for “${listing.search}”.` : 'No members.';
    const members = html`${searchForm({ path: listing.path, search: listing.search, label: 'Search by name or email' })}
${shown.length === 0 ? emptyState({ icon: 'users', text: none }) : html`<ul class="rows">${shown.map(memberRow)}</ul>`}
${pager(listing, next)}`;
    const body = html`${pageHead({ title: business.name, avatar: avatar({ ...business, shape: 'square' }), intro: 'Its members, its own apps, and which apps are connected.', back: { to: PATH, name: 'Businesses' } })}
${facts(business, impact)}
${appSection(business, apps)}
${section({ title: 'Members', body: members })}`;
    return sendPlatformPage(reply, deps, { context, title: business.name, body });
  });
}

function facts({ id, createdAt }: Business, impact: Impact): Html {
  const { apps, users } = impact;
  const connected = `${pluralizeCount(apps, impact, 'app', 'apps')}, by ${pluralizeCount(users, impact, 'member', 'members')}`;
  const body = html`<dl class="facts">
<div><dt>Business ID</dt><dd>${copyable('business-id', id)}</dd></div>
<div><dt>Added</dt><dd>${time(createdAt)}</dd></div>
<div><dt>Connected apps</dt><dd>${apps === 0 && !impact.isPart ? 'None' : connected}</dd></div>
</dl>`;
  return settings({ title: 'Details', body });
}

function appSection({ id }: Business, apps: OwnedApp[]): Html {
  const rows = apps
    .slice(0, APPS_SHOWN)
    .map(
      (app) =>
        html`<li class="entry">${appAvatar(app)}<div><a href="/platform/apps/${app.id}">${app.name}</a> ${appBadges(app)}</div></li>`,
    );
  return section({
    title: 'Apps',
    body: html`${rows.length === 0 ? emptyState({ icon: 'blocks', text: 'No apps. Its owners and admins can register one.' }) : html`<ul class="rows">${rows}</ul>`}
${apps.length > rows.length && html`<p><a href="/platform/apps?q=${id}">All apps of this business</a></p>`}`,
  });
}

function memberRow(member: Member): Html {
  const { id, name, email, role, since } = member;
  return html`<li class="entry">${avatar({ id, name })}<div><a href="/platform/users/${id}">${name}</a> ${userBadges({ ...member, isPlatformAdmin: false })}
<p class="muted small">${email}</p></div>
<div class="meta muted small">${roleBadge(role)}<span>Since ${day(since)}</span></div></li>
`;
}
