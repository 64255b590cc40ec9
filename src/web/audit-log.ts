import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ACTION_GROUPS, type ActionGroup, type Actor } from '../audit/entries.ts';
import { type AuditEntry, actionName, describeDetail, type Tenant } from '../audit/log.ts';
import { exportEntries, searchEntries } from '../audit/search.ts';
import { DAY } from '../lib/clock.ts';
import { type Html, html } from '../lib/html.ts';
import { access, type RouteAccess } from './access.ts';
import {
  type AuditFilters,
  filterForm,
  filtersOf,
  hasDays,
  isReversed,
  nextLonger,
  PERIODS,
  periodText,
  rangeOf,
  readFilters,
} from './audit-filters.ts';
import { businessPath, businessRoute } from './business-address.ts';
import { emptyState } from './components/display.ts';
import { pageHead } from './components/structure.ts';
import type { WebDeps } from './deps.ts';
import { notFound } from './errors.ts';
import { type Form, preciseTime } from './forms.ts';
import { type PageContext, sendPage } from './layout.ts';
import { listingUrl, PAGE_SIZE, pager, takePage } from './listing.ts';
import { loadPageContext } from './page-context.ts';
import { platformTabs } from './platform/page.ts';

/** The audit log of one business, or of the whole platform. */
interface AuditSection {
  route: string;
  /** The groups of actions that it can contain. */
  groups: readonly ActionGroup[];
  access: RouteAccess;
  load(request: FastifyRequest): Promise<AuditScope>;
}

interface AuditScope {
  context: PageContext;
  /** Undefined for the log of the whole platform. */
  tenant: Tenant | undefined;
  path: string;
  /** `tabs` are below the title. */
  head: { intro: string; tabs?: Html };
}

/** The audit log of a business, for its owners. */
export function mountAuditLog(host: FastifyInstance, deps: WebDeps): void {
  mountAuditSection(host, deps, {
    route: businessRoute('audit-log'),
    access: access('owner'),
    groups: ['app', 'secret', 'endpoint', 'grant', 'member', 'session', 'business'],
    async load(request) {
      const context = await loadPageContext(deps, request);
      const { current } = context;
      if (!current) throw notFound();
      const intro = `Who did what in ${current.businessName}, newest first. ${describeRetention(deps)} ${REPEATS}`;
      const tenant = { businessId: current.businessId, platformName: deps.platformName };
      return { context, tenant, path: businessPath(current, 'audit-log'), head: { intro } };
    },
  });
}

/** Failed sign-ins have their count beside them. */
const REPEATS =
  'Of the sign-ins of a member from one network within an hour, it lists the 1st, the 10th, the 100th and so on.';

const PLATFORM_LOG = '/platform/audit-log';

/** The audit log of all businesses and of the platform. */
export function mountPlatformAuditLog(host: FastifyInstance, deps: WebDeps): void {
  mountAuditSection(host, deps, {
    route: PLATFORM_LOG,
    access: access('platform_admin'),
    groups: Object.keys(ACTION_GROUPS) as ActionGroup[],
    async load(request) {
      const context = await loadPageContext(deps, request);
      const intro = `Who did what, in every business and on the platform, newest first. ${describeRetention(deps)}`;
      return { context, tenant: undefined, path: PLATFORM_LOG, head: { intro, tabs: platformTabs(context) } };
    },
  });
}

function mountAuditSection(host: FastifyInstance, deps: WebDeps, section: AuditSection): void {
  const db = deps.storage.durable;

  host.get(section.route, section.access, async (request, reply) => {
    const { context, tenant, path, head } = await section.load(request);
    const filters = await readFilters(deps, request.query as Form, section.groups);
    const query = {
      ...filters,
      ...rangeOf(filters, deps.clock()),
      tenant,
      before: filters.after,
      limit: PAGE_SIZE + 1,
      client: request.signal,
    };
    const { entries, searchedTo } = await searchEntries(db, query);
    const { shown, next } = takePage(entries);
    const view = { ...filters, path, groups: section.groups, namesBusiness: tenant === undefined };
    const title = pageHead({ title: 'Audit log', intro: head.intro, actions: shown.length > 0 && exportLink(view) });
    const body = html`${title}${head.tabs}${auditBody(view, { entries: shown, next, searchedTo })}`;
    return sendPage(
      reply,
      { title: 'Audit log', platformName: deps.platformName, width: 'wide', context, body },
      { status: isReversed(filters) ? 400 : 200 },
    );
  });

  host.get(`${section.route}.csv`, section.access, async (request, reply) => {
    const { tenant } = await section.load(request);
    const filters = await readFilters(deps, request.query as Form, section.groups);
    const now = deps.clock();
    const { search, group, personId, after: before } = filters;
    const range = { ...rangeOf(filters, now), before, client: request.signal };
    const lines = exportEntries(db, { search, group, personId, tenant, ...range });
    // What the first step throws is still an error page.
    const { value: first = '' } = await lines.next();
    return sendCsv(reply, startWith(first, lines), now);
  });
}

function describeRetention({ auditRetention }: WebDeps): string {
  if (auditRetention === undefined) return 'Nothing in it can be changed or removed.';
  return `Nothing in it can be changed, and entries are removed only after ${auditRetention / DAY} days.`;
}

async function* startWith(first: string, others: AsyncIterable<string>): AsyncGenerator<string> {
  yield first;
  yield* others;
}

function sendCsv(reply: FastifyReply, lines: AsyncIterable<string>, now: number): FastifyReply {
  const day = new Date(now).toISOString().slice(0, 10);
  return reply
    .header('content-disposition', `attachment; filename="audit-log-${day}.csv"`)
    .header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    .header('referrer-policy', 'same-origin')
    .header('cross-origin-resource-policy', 'same-origin')
    .header('cache-control', 'no-store')
    .type('text/csv; charset=utf-8')
    .send(Readable.from(lines));
}

interface AuditView extends AuditFilters {
  path: string;
  groups: readonly ActionGroup[];
  /** Whether each row names its business. */
  namesBusiness: boolean;
}

interface AuditPage {
  entries: AuditEntry[];
  /** The id after which the next page starts. */
  next: string | undefined;
  /** Where the search stopped, if that was before the end of its period. */
  searchedTo: string | undefined;
}

function auditBody(view: AuditView, { entries, next, searchedTo }: AuditPage): Html {
  const filters = filtersOf(view);
  if (isReversed(view)) return filterForm(view, { path: view.path, groups: view.groups, isFiltered: true });
  const isFiltered = Boolean(view.search || view.group || view.by || hasDays(view));
  return html`${filterForm(view, { path: view.path, groups: view.groups, isFiltered })}
${describePerson(view, entries)}
${entries.length > 0 ? table(view, entries) : emptyState({ icon: 'scroll-text', text: `${isFiltered ? 'Nothing matches' : 'No entries'} ${periodText(view, searchedTo)}.` })}
${pager({ ...view, filters }, next)}
${!next && olderEntriesLink(view, { searchedTo, isEmpty: entries.length === 0 })}`;
}

/** Exports the entries that are shown, and all pages after them. */
function exportLink(view: AuditView): Html {
  const url = listingUrl(`${view.path}.csv`, { q: view.search, ...filtersOf(view) });
  return html`<a class="button" href="${url}" download>Export as CSV</a>`;
}

/** A failed sign-in names the person as its subject. */
function describePerson({ personId }: AuditView, entries: AuditEntry[]): Html | false {
  const [first] = entries;
  if (!personId || !first) return false;
  const name = entries.find(({ actor }) => actor.id === personId)?.actor.name ?? first.subject.name;
  return html`<p class="notice">Only what ${name} did, and failed sign-ins to their account.</p>`;
}

function olderEntriesLink(
  view: AuditView,
  { searchedTo, isEmpty }: { searchedTo: string | undefined; isEmpty: boolean },
): Html | null {
  const { path, search, period } = view;
  const filters = filtersOf(view);
  if (searchedTo !== undefined) {
    const address = listingUrl(path, { q: search, ...filters, after: searchedTo });
    return html`<p class="notice">This search covered only part of the log. <a href="${address}" rel="next">Search further back</a></p>`;
  }
  const longer = nextLonger(period);
  if (longer === undefined || hasDays(view)) return null;
  const address = listingUrl(path, { q: search, ...filters, period: String(longer) });
  return html`<p class="muted small">${!isEmpty && `This is the end of the ${PERIODS[period].toLowerCase()}. `}<a href="${address}">Search further back</a></p>`;
}

function table(view: AuditView, entries: AuditEntry[]): Html {
  return html`<div class="table stack audit" role="region" aria-label="Audit log" tabindex="0"><table>
<thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">Target</th>${view.namesBusiness && html`<th scope="col">Business</th>`}<th scope="col">Source</th></tr></thead>
<tbody>${entries.map((entry) => row(view, entry))}</tbody>
</table></div>`;
}

function row({ path, namesBusiness }: AuditView, { at, actor, action, subject, business, detail }: AuditEntry): Html {
  const more = describeDetail(detail);
  return html`<tr><td data-label="When">${preciseTime(at)}</td>
<td data-label="Who">${actor.id ? html`<a href="${listingUrl(path, { by: actor.id })}">${actor.name}</a>` : actor.name} ${badge(actor)} ${actor.email && html`<p class="more small muted">${actor.email}</p>`}</td>
<td data-label="What">${actionName(action)} ${more && html`<p class="more small muted">${more}</p>`}</td>
${cell('Target', subject.name)}${namesBusiness && cell('Business', business?.name)}
${cell('Source', actor.address ?? (actor.kind === 'operator' ? 'Command line' : undefined))}</tr>
`;
}

function cell(label: string, value: string | undefined): Html {
  return value ? html`<td data-label="${label}">${value}</td>` : html`<td class="none" data-label="${label}">—</td>`;
}

function badge({ kind }: Actor): Html | false {
  return (kind === 'platform' || kind === 'app') && html`<span class="badge">${kind}</span>`;
}
