import type { FastifyInstance } from 'fastify';
import type { App } from '../../apps/apps.ts';
import { type AppConnection, listAppConnections } from '../../grants/app-connections.ts';
import { type Html, html } from '../../lib/html.ts';
import { emptyState } from '../components/display.ts';
import { day } from '../days.ts';
import { type Form, time } from '../forms.ts';
import { type Listing, PAGE_SIZE, pager, readListing, searchForm, takePage } from '../listing.ts';
import { type AppPages, appHead } from './app-page.ts';

type ForApp = { Params: { id: string }; Querystring: Form };

export function mountAppConnections(host: FastifyInstance, { section, db, clock, show, loadApp }: AppPages): void {
  host.get<ForApp>(`${section.route}/:id/connections`, section.view, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    const listing = readListing(request.query);
    const found = await listAppConnections(db, app, { ...listing, limit: PAGE_SIZE + 1 }, clock());
    const body = connectionsBody({ app, path: `${path}/connections`, ...listing, ...takePage(found) });
    return show(reply, viewer, html`${appHead(section, viewer, app, 'Connections')}${body}`);
  });
}

interface Connections extends Listing {
  app: App;
  path: string;
  shown: AppConnection[];
  next: string | undefined;
}

function connectionsBody(connections: Connections): Html {
  const { app, path, search, after, shown, next } = connections;
  return html`<section class="card"><h2>Connections</h2>
<p class="muted small">The businesses that have connected ${app.name}, with the number of users. The users themselves are not listed.</p>
${searchForm({ path, search, label: 'Find a business by its name' })}
${shown.length === 0 ? emptyState({ icon: 'building-2', text: emptyText(connections) }) : table(shown)}
${pager({ path, search, after }, next)}
</section>`;
}

function emptyText({ search, after }: Connections): string {
  if (search) return 'No business with this name has connected the app.';
  return after ? 'No more connections.' : 'No connections yet. Send a user to the authorize endpoint, or use Try it.';
}

function table(shown: AppConnection[]): Html {
  return html`<div class="table" role="region" aria-label="Connections" tabindex="0"><table>
<thead><tr><th scope="col">Business</th><th scope="col">Users</th><th scope="col">Since</th><th scope="col">Until</th><th scope="col">Last used</th></tr></thead>
<tbody>${shown.map(
    ({ businessName, users, since, expiresAt, lastUsedAt }) =>
      html`<tr><th scope="row">${businessName}</th><td>${users}</td><td>${time(since)}</td><td>${expiresAt ? day(expiresAt) : 'Disconnected'}</td><td>${lastUsedAt ? time(lastUsedAt) : 'Not recently'}</td></tr>`,
  )}</tbody></table></div>`;
}
