import type { FastifyInstance } from 'fastify';
import type { App } from '../../apps/apps.ts';
import { errorUri } from '../../http/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { type HourlyCounts, listCounts } from '../../request-log/counts.ts';
import { type LoggedRequest, listRequests } from '../../request-log/log.ts';
import { emptyState, statusDot, type Tone } from '../components/display.ts';
import { segments } from '../components/structure.ts';
import { prose } from '../components.ts';
import { type Form, preciseTime, text } from '../forms.ts';
import { type Listing, listingUrl, PAGE_SIZE, pager, readListing, searchForm, takePage } from '../listing.ts';
import { ERROR_CODES, explainError } from '../reference/error-guide.ts';
import { type AppPages, appHead } from './app-page.ts';
import { PERIODS, type Period, readPeriod, readZone, startOf } from './request-bars.ts';
import { chart } from './request-chart.ts';

const MAX_NAME_LENGTH = 30;
const LOG_DESCRIPTION =
  'The newest 1,000 requests to the token endpoint and the API, for seven days. Tokens, codes and secrets are not stored. ' +
  'Anyone can send requests with a wrong secret, so only some of those are listed, and none are in the chart. Requests ' +
  'that do not identify the app, and requests to unknown paths, are not logged.';

type ForApp = { Params: { id: string }; Querystring: Form };

export function mountAppRequests(host: FastifyInstance, pages: AppPages): void {
  const { section, show, loadApp } = pages;
  host.get<ForApp>(`${section.route}/:id/requests`, section.view, async (request, reply) => {
    const { viewer, app, path } = await loadApp(request);
    const zone = readZone(request.headers['x-time-zone']);
    const log = await readLog(pages, app.id, request.query);
    const body = requestLogBody({ app, path: `${path}/requests`, zone, ...log });
    return show(reply, viewer, html`${appHead(section, viewer, app, 'Requests')}${body}`);
  });
}

/** Flushes first, so that the newest requests are listed. */
async function readLog({ db, clock, requestLog, issuer }: AppPages, appId: string, query: Form) {
  await requestLog.flush();
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

interface RequestLog extends Listing {
  app: App;
  path: string;
  issuer: string;
  onlyErrors: boolean;
  period: Period;
  counts: HourlyCounts[];
  shown: LoggedRequest[];
  next: string | undefined;
  now: number;
  /** Of the chart. */
  zone: string;
}

function requestLogBody(log: RequestLog): Html {
  const { path, search, after, onlyErrors, period, next } = log;
  const isFirst = after === undefined;
  const errors = onlyErrors ? 'only' : undefined;
  return html`${isFirst && search === '' && chartSection(log)}
<section class="card"><div class="head"><h2>Requests</h2>${filter(log)}</div>
<p class="muted small">${LOG_DESCRIPTION}</p>
${searchForm({ path, search, label: 'Find a request by its id' })}
<div id="requests" ${isFirst && html`data-live`}>${rows(log)}</div>
${pager({ path, search, after, filters: { errors, period: period.name === 'day' ? undefined : period.name } }, next)}
</section>`;
}

function chartSection({ path, period, counts, onlyErrors, now, zone }: RequestLog): Html {
  const errors = onlyErrors ? 'only' : undefined;
  const links = PERIODS.map((each) => ({
    name: `Last ${each.words}`,
    to: listingUrl(path, { errors, period: each.name === 'day' ? undefined : each.name }),
    isHere: each.name === period.name,
  }));
  return html`<section class="card"><div class="head"><h2>Activity</h2>${segments('Period', links)}</div>
<div id="activity" data-live>${chart(period, counts, { now, zone })}</div></section>`;
}

function filter({ path, period, onlyErrors }: RequestLog): Html {
  const kept = { period: period.name === 'day' ? undefined : period.name };
  return segments('Which requests', [
    { name: 'All', to: listingUrl(path, kept), isHere: !onlyErrors },
    { name: 'Errors only', to: listingUrl(path, { ...kept, errors: 'only' }), isHere: onlyErrors },
  ]);
}

function rows(log: RequestLog): Html {
  if (log.shown.length === 0) return emptyState({ text: emptyText(log) });
  return html`<div class="table" role="region" aria-label="Requests" tabindex="0"><table>
<thead><tr><th scope="col">Time</th><th scope="col">Request</th><th scope="col">Outcome</th><th scope="col">Business</th><th scope="col">Request id</th></tr></thead>
<tbody>${log.shown.map((request) => row(request, log.issuer))}</tbody></table></div>`;
}

function emptyText({ search, onlyErrors, after }: RequestLog): string {
  if (search) return 'No request of this app has this id. The id is in the x-request-id header of every response.';
  if (after) return 'No older requests.';
  return onlyErrors ? 'No errors.' : 'No requests yet.';
}

function row(request: LoggedRequest, issuer: string): Html {
  const { at, method, route, grantType, status, took, businessName, requestId } = request;
  return html`<tr><td>${preciseTime(at)}</td>
<td><code>${method} ${route}</code>${grantType && html`<br><span class="muted">${grantType}</span>`}</td>
<td>${statusDot(String(status), toneOf(status))} <span class="muted">${took} ms</span>${why(request, issuer)}</td>
<td>${businessName && shorten(businessName)}</td><td><code class="small">${requestId}</code></td></tr>`;
}

function toneOf(status: number): Tone {
  if (status < 400) return 'good';
  return status < 500 ? 'caution' : 'warn';
}

function why({ reason, route }: LoggedRequest, issuer: string): Html | null {
  if (reason === null) return null;
  const known = explainReason(reason, route);
  if (!known) return html`<br><code>${reason}</code>`;
  return html`<br><a href="${errorUri(issuer, known.code, reason)}">${reason}</a><br>${prose(known.words)}`;
}

function shorten(name: string): string {
  const characters = [...name];
  return characters.length > MAX_NAME_LENGTH ? `${characters.slice(0, MAX_NAME_LENGTH).join('')}…` : name;
}

interface ReasonInWords {
  code: string;
  words: string;
}

/** The first sentence of the error reference. Some reasons belong to two errors; the route decides which. */
function explainReason(reason: string, route: string): ReasonInWords | undefined {
  const codes = ERROR_CODES.filter((code) => Object.hasOwn(explainError(code)?.reasons ?? {}, reason));
  const usual = route.startsWith('/api/v1/oauth/') ? 'invalid_grant' : 'invalid_token';
  const code = codes.includes(usual) ? usual : codes[0];
  if (code === undefined) return undefined;
  const [words = ''] = /^.*?[.:](?=\s|$)/.exec(explainError(code)?.reasons[reason] ?? '') ?? [];
  return { code, words: words.replace(/:$/, '.') };
}
