import type { FastifyInstance } from 'fastify';
import { listAppConnections } from '../../grants/app-connections.ts';
import { html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { listCounts } from '../../request-log/counts.ts';
import { listRequests } from '../../request-log/log.ts';
import { type Form, text } from '../forms.ts';
import { PAGE_SIZE, readListing, takePage } from '../listing.ts';
import { connectionsBody } from './app-connections.ts';
import { appHead, type Desk } from './app-page.ts';
import { requestLogBody } from './app-requests.ts';
import { readPeriod, startOf } from './request-chart.ts';

type ForApp = { Params: { id: string }; Querystring: Form };

/** What an app has asked for lately, and who has connected it: for everyone who may look at the app. */
export function mountActivity(host: FastifyInstance, desk: Desk): void {
  const { section, db, clock, show, lookAtApp } = desk;

  host.get<ForApp>(`${section.path}/:id/requests`, section.view, async (request, reply) => {
    const { entry, app, path } = await lookAtApp(request);
    const body = requestLogBody({ app, path: `${path}/requests`, ...(await readLog(desk, app.id, request.query)) });
    return show(reply, entry, html`${appHead(section, entry, app, 'Requests')}${body}`);
  });

  host.get<ForApp>(`${section.path}/:id/connections`, section.view, async (request, reply) => {
    const { entry, app, path } = await lookAtApp(request);
    const listing = readListing(request.query);
    const found = await listAppConnections(db, app, { ...listing, limit: PAGE_SIZE + 1 }, clock());
    const body = connectionsBody({ app, path: `${path}/connections`, ...listing, ...takePage(found) });
    return show(reply, entry, html`${appHead(section, entry, app, 'Connections')}${body}`);
  });
}

/** What this node has noted a moment ago is to be seen, too. */
async function readLog({ db, clock, activity, issuer }: Desk, appId: string, query: Form) {
  await activity.flush();
  const now = clock();
  const { search, after } = readListing(query);
  const onlyErrors = text(query, 'errors') === 'only';
  const period = readPeriod(text(query, 'period'));
  const requestId = search === '' ? undefined : search.toLowerCase();
  const wanted = { appId, onlyErrors, requestId, before: after, limit: PAGE_SIZE + 1 };
  const found = requestId === undefined || isId(requestId) ? await listRequests(db, wanted) : [];
  const counts = await listCounts(db, appId, startOf(period, now));
  return { issuer, search, after, onlyErrors, period, counts, ...takePage(found), now };
}
