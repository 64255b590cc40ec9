import type { FastifyInstance } from 'fastify';
import { searchAppsOf } from '../../apps/app-search.ts';
import type { App } from '../../apps/apps.ts';
import { listLastUses } from '../../apps/secrets.ts';
import { countConnections } from '../../grants/impact.ts';
import { type Html, html } from '../../lib/html.ts';
import { pluralize } from '../components.ts';
import { time } from '../forms.ts';
import { type Listing, PAGE_SIZE, pager, readListing, searchForm, takePage } from '../listing.ts';
import { type AppPages, type AppSection, appStatusBadges, type Viewer } from './app-page.ts';

export function mountAppList(host: FastifyInstance, pages: AppPages): void {
  const { section, show } = pages;
  host.get(section.path, section.list, async (request, reply) => {
    const viewer = await section.loadViewer(request);
    const list = await readAppList(pages, viewer, readListing(request.query));
    return show(reply, viewer, appListBody(section, viewer, list));
  });
}

interface ListedApp {
  app: App;
  connections: number;
  lastUsedAt: number | null;
}

interface AppList extends Listing {
  apps: ListedApp[];
  next: string | undefined;
  issuer: string;
}

async function readAppList({ db, clock, issuer }: AppPages, viewer: Viewer, listing: Listing): Promise<AppList> {
  const found = await searchAppsOf(db, viewer.ownerBusinessId, { ...listing, limit: PAGE_SIZE + 1 });
  const { shown, next } = takePage(found);
  const ids = shown.map(({ id }) => id);
  const countOf = await countConnections(db, ids, clock());
  const lastUseOf = await listLastUses(db, ids);
  const apps = shown.map((app) => ({ app, connections: countOf(app.id), lastUsedAt: lastUseOf(app.id) }));
  return { ...listing, apps, next, issuer };
}

/** A list that fits on one page has no search. */
function appListBody(section: AppSection, viewer: Viewer, list: AppList): Html {
  const { apps, search, after, next, issuer } = list;
  const { path } = section;
  const isLong = Boolean(search || after || next);
  return html`<div class="head"><h1>${section.title}</h1>
${viewer.canChange && html`<a class="button primary" href="${path}/new">New app</a>`}</div>
<p class="muted">${viewer.intro} New here? Follow <a href="${issuer}/docs/guides/connect-your-app">Connect your app</a>. Something failing? See <a href="${issuer}/docs/errors">the error list</a>. All requests are in <a href="${issuer}/docs">the API reference</a>.</p>
${isLong && searchForm({ path, search, label: 'Search by name or client_id' })}
${apps.length === 0 && html`<p class="empty">${emptyText(viewer, list)}</p>`}
<ul class="rows">${apps.map((listed) => appRow(path, listed))}</ul>
${pager({ path, search, after }, next)}`;
}

function emptyText({ canChange }: Viewer, { search, after }: AppList): string {
  if (search) return `No app found for “${search}”.`;
  if (after) return 'No more apps.';
  return canChange
    ? 'No apps yet. Register one to get its client_id and client_secret.'
    : 'No apps yet. Owners and admins of the business can register one.';
}

function appRow(path: string, { app, connections, lastUsedAt }: ListedApp): Html {
  return html`<li><div><a href="${path}/${app.id}">${app.name}</a> ${appStatusBadges(app)}
<p class="muted small">${pluralize(connections, 'connection', 'connections')} · ${lastUsedAt === null ? 'never used' : html`last used ${time(lastUsedAt)}`} · <code>${app.id}</code></p></div></li>`;
}
