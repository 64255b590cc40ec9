import type { FastifyInstance } from 'fastify';
import type { App } from '../../apps/apps.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { type HourlyCounts, listCounts } from '../../request-log/counts.ts';
import { hasFailed, type LoggedRequest, listRequests, type RequestStatus } from '../../request-log/log.ts';
import { emptyState, type Tone } from '../components/display.ts';
import { logEntry, logList, shortId } from '../components/log.ts';
import { segments } from '../components/structure.ts';
import { type Form, shortTime, text } from '../forms.ts';
import { type Cursor, type ListPage, listingUrl, pager, readCursor, readPage } from '../listing.ts';
import {
  isFiltered,
  type Log,
  type LogFilters,
  noMatch,
  readLogFilters,
  startOfTime,
  statusFilter,
  timeForm,
} from '../log-filters.ts';
import { GUIDES } from '../reference/guides.ts';
import { type AppPages, appHead } from './app-page.ts';
import { PERIODS, type Period, readLocale, readPeriod, readZone, startOf } from './request-bars.ts';
import { chart } from './request-chart.ts';

const NOT_LISTED =
  'Tokens, codes, secrets and queries are not stored. Anyone can send requests with a wrong secret, and authorize requests. So ' +
  'only some of those with a wrong secret are listed, and of authorize requests only some that were rejected, and none ' +
  'of them are in the chart. Requests that do not identify the app, and requests to unknown paths, are not logged.';

const LOG: Log<RequestStatus> = {
  noun: 'requests',
  statuses: { succeeded: 'Succeeded', failed: 'Errors' },
  times: ['hour', 'day'],
  searchLabel: 'Find a request by its ID',
};

type ForApp = { Params: { id: string }; Querystring: Form };

export function mountAppRequests(host: FastifyInstance, pages: AppPages): void {
  const { section, show, loadApp } = pages;
  host.get<ForApp>(`${section.route}/:id/requests`, section.view, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    const zone = readZone(request.headers['x-time-zone']);
    // Without the script, all dates are in British English.
    const locale = readLocale(request.headers['x-time-zone'] ? request.headers['accept-language'] : '');
    const log = await readLog(pages, app.id, request.query);
    const body = requestLogBody({ ...log, app, path: `${path}/requests`, zone, locale, issuer: pages.issuer });
    const head = appHead(section, viewer, app, { here: 'Requests' });
    return show(reply, viewer, { title: `Requests · ${app.name}`, body: html`${head}${body}` });
  });
}

/** Flushes first, so that the newest requests are listed. */
async function readLog({ db, clock, requestLog }: AppPages, appId: string, query: Form) {
  await requestLog.flush();
  const now = clock();
  const filters = readLogFilters(LOG, query);
  const cursor = readCursor(query);
  const requestId = filters.search.toLowerCase() || undefined;
  const filter = { appId, status: filters.status, requestId, since: startOfTime(filters, now) };
  const page = await readPage(cursor, {
    load: async (range) =>
      requestId === undefined || isId(requestId) ? listRequests(db, { ...filter, ...range }) : [],
    cursorOf: ({ id }: LoggedRequest) => id,
  });
  const period = readPeriod(text(query, 'period'));
  const counts = await listCounts(db, appId, startOf(period, now));
  return { filters, cursor, page, period, counts, now };
}

interface RequestLog {
  app: App;
  path: string;
  issuer: string;
  filters: LogFilters<RequestStatus>;
  cursor: Cursor;
  page: ListPage<LoggedRequest>;
  period: Period;
  counts: HourlyCounts[];
  now: number;
  /** The time zone of the chart. */
  zone: string;
  locale: string;
}

function requestLogBody(log: RequestLog): Html {
  const { path, filters, page, cursor, period } = log;
  const isFirst = page.previous === undefined && cursor.after === undefined;
  const { search, status, time } = filters;
  const kept = { period: periodParameter(period) };
  const place = { path, kept };
  const pages = { path, search, after: cursor.after, previous: page.previous, filters: { status, time, ...kept } };
  return html`${isFirst && search === '' && chartSection(log)}
<section class="card"><div class="head"><h2>Requests</h2>${statusFilter(LOG, filters, place)}</div>
<p class="muted small">The newest 1,000 requests to the token endpoint and the API, and 100 rejected authorize requests, for seven days.</p>
${timeForm(LOG, filters, place)}
<div id="requests" ${isFirst && html`data-live`}>${rows(log)}</div>
${pager(pages, page.next)}
<details class="muted small log-note"><summary>What is not listed</summary><p>${NOT_LISTED}</p></details>
</section>`;
}

function periodParameter({ name }: Period): string | undefined {
  return name === 'day' ? undefined : name;
}

function chartSection({ path, period, counts, filters, now, zone, locale }: RequestLog): Html {
  const { status, time } = filters;
  const links = PERIODS.map((each) => ({
    name: `Last ${each.words}`,
    to: listingUrl(path, { status, time, period: periodParameter(each) }),
    isHere: each.name === period.name,
  }));
  return html`<section class="card"><div class="head"><h2>Activity</h2>${segments('Period', links)}</div>
<div id="activity" data-live>${chart(period, counts, { now, zone, locale })}</div></section>`;
}

function rows(log: RequestLog): Html {
  const { path, page } = log;
  if (page.shown.length === 0) return noRows(log);
  return logList(
    'Requests',
    page.shown.map((request) => row(request, path)),
  );
}

function noRows({ path, period, filters, cursor, app, issuer }: RequestLog): Html {
  if (isFiltered(filters)) {
    const hint = 'No request of this app has this ID. It is in the x-request-id header of every response.';
    return noMatch(LOG, { path, kept: { period: periodParameter(period) } }, filters.search && hint);
  }
  if (cursor.after) return emptyState({ text: 'No older requests.' });
  return emptyState({
    icon: 'code-xml',
    title: 'No requests yet',
    text: `What ${app.name} sends to the token endpoint and the API is listed here, with the reason of each error.`,
    action: html`<p><a class="button" href="${issuer}${GUIDES}/connect-your-app">Connect your app</a></p>`,
  });
}

function row(
  { id, at, method, route, grantType, status, reason, took, businessName, requestId, rejected }: LoggedRequest,
  path: string,
): Html {
  return logEntry({
    to: `${path}/${id}`,
    status: { text: String(status), tone: toneOf({ status, rejected }) },
    title: `${method} ${route}`,
    about: [reason, rejected?.name, rejected?.redirectOrigin, grantType, businessName],
    at: shortTime(at),
    took,
    id: shortId(requestId, 'request ID'),
  });
}

export function toneOf({ status, rejected }: Pick<LoggedRequest, 'status' | 'rejected'>): Tone {
  if (!hasFailed({ status, rejected })) return 'good';
  return status < 500 ? 'caution' : 'warn';
}
