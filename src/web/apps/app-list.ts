import { searchAppsOf } from '../../apps/app-search.ts';
import type { App } from '../../apps/apps.ts';
import { listLastUses } from '../../apps/secrets.ts';
import { countConnections } from '../../grants/impact.ts';
import { type Html, html } from '../../lib/html.ts';
import { pluralize } from '../components.ts';
import { time } from '../forms.ts';
import { type Listing, PAGE_SIZE, pager, searchForm, takePage } from '../listing.ts';
import { type AppSection, badgesOf, type Desk, type Entry } from './app-page.ts';

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

/** A page of an owner's apps, with how each is doing. */
export async function readAppList({ db, clock, issuer }: Desk, entry: Entry, listing: Listing): Promise<AppList> {
  const found = await searchAppsOf(db, entry.ownerBusinessId, { ...listing, limit: PAGE_SIZE + 1 });
  const { shown, next } = takePage(found);
  const ids = shown.map(({ id }) => id);
  const countOf = await countConnections(db, ids, clock());
  const lastUseOf = await listLastUses(db, ids);
  const apps = shown.map((app) => ({ app, connections: countOf(app.id), lastUsedAt: lastUseOf(app.id) }));
  return { ...listing, apps, next, issuer };
}

/** Whoever has few apps sees them all, and needs no search. */
export function appListBody(section: AppSection, entry: Entry, list: AppList): Html {
  const { apps, search, after, next, issuer } = list;
  const { path } = section;
  const isLong = Boolean(search || after || next);
  return html`<div class="head"><h1>${section.title}</h1>
${entry.canChange && html`<a class="button primary" href="${path}/new">New app</a>`}</div>
<p class="muted">${entry.intro} New here? Follow <a href="${issuer}/docs/guides/connect-your-app">Connect your app</a>. Something failing? See <a href="${issuer}/docs/errors">the error list</a>. All requests are in <a href="${issuer}/docs">the API reference</a>.</p>
${isLong && searchForm({ path, search, label: 'Search by name or client_id' })}
${apps.length === 0 && html`<p class="empty">${nothing(entry, list)}</p>`}
<ul class="rows">${apps.map((listed) => appRow(path, listed))}</ul>
${pager({ path, search, after }, next)}`;
}

function nothing({ canChange }: Entry, { search, after }: AppList): string {
  if (search) return `No app found for “${search}”.`;
  if (after) return 'There are no more.';
  return canChange
    ? 'No apps yet. Register one to get its client_id and client_secret.'
    : 'No apps yet. Owners and admins of the business can register one.';
}

function appRow(path: string, { app, connections, lastUsedAt }: ListedApp): Html {
  return html`<li><div><a href="${path}/${app.id}">${app.name}</a> ${badgesOf(app)}
<p class="muted small">${pluralize(connections, 'connection', 'connections')} · ${lastUsedAt === null ? 'never used' : html`last used ${time(lastUsedAt)}`} · <code>${app.id}</code></p></div></li>`;
}
