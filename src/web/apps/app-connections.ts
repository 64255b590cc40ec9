import type { FastifyInstance } from 'fastify';
import type { App } from '../../apps/apps.ts';
import { type AppConnection, listAppConnections } from '../../grants/app-connections.ts';
import { formatCount } from '../../grants/counts.ts';
import { type Html, html } from '../../lib/html.ts';
import { emptyState } from '../components/display.ts';
import { section, table } from '../components/structure.ts';
import { day } from '../days.ts';
import { type Form, time } from '../forms.ts';
import { type Listing, PAGE_SIZE, pager, readListing, searchForm, takePage } from '../listing.ts';
import { type AppPages, appHead } from './app-page.ts';

type ForApp = { Params: { id: string }; Querystring: Form };

export function mountAppConnections(host: FastifyInstance, pages: AppPages): void {
  const { db, clock, show, loadApp } = pages;
  host.get<ForApp>(`${pages.section.route}/:id/connections`, pages.section.view, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    const listing = readListing(request.query);
    const found = await listAppConnections(db, app, { ...listing, limit: PAGE_SIZE + 1 }, clock());
    const body = connectionsBody({ app, path: `${path}/connections`, ...listing, ...takePage(found) });
    const head = appHead(pages.section, viewer, app, { here: 'Connections' });
    return show(reply, viewer, { title: `Connections · ${app.name}`, body: html`${head}${body}` });
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
  const body = html`${searchForm({ path, search, label: 'Find a business by its name' })}
${shown.length === 0 ? emptyState({ icon: 'building-2', text: emptyText(connections) }) : connectionTable(shown)}
${pager({ path, search, after }, next)}`;
  return section({
    title: 'Connections',
    intro: `The businesses that have connected ${app.name}, with the number of users. The users themselves are not listed.`,
    body,
  });
}

function emptyText({ search, after }: Connections): string {
  if (search) return 'No business with this name has connected the app.';
  return after ? 'No more connections.' : 'No connections yet. Send a user to the authorize endpoint, or use Try it.';
}

function connectionTable(shown: AppConnection[]): Html {
  return table({
    label: 'Connections',
    columns: ['Business', 'Users', 'Since', 'Ends', 'Last used'],
    rows: shown.map(({ businessName, users, since, expiresAt, lastUsedAt, isPart }) => [
      html`<strong>${businessName}</strong>`,
      formatCount(users, { isPart }),
      time(since),
      expiresAt ? html`${isPart && 'Not before '}${day(expiresAt)}` : 'No end date',
      lastUsedAt ? time(lastUsedAt) : 'Not recently',
    ]),
  });
}
