import { type Act, actionName, describeDetail } from '../audit/act-log.ts';
import { type Actor, GROUPS, type Group } from '../audit/acts.ts';
import { type Html, html } from '../lib/html.ts';
import { listPeriods, nextLonger, PERIODS, type Period, USUAL_PERIOD } from './audit-period.ts';
import { preciseTime } from './fields.ts';
import { type Listing, listingAddress, pager } from './listing.ts';

/** What is asked of a log, and where the log is. */
interface AuditView extends Listing {
  path: string;
  groups: readonly Group[];
  group: Group | undefined;
  /** Only what this one did. */
  actorId: string | undefined;
  period: Period;
  /** Where several businesses are in one log, each row says which. */
  namesBusiness: boolean;
}

interface AuditPage {
  acts: Act[];
  /** The id after which the next page starts. */
  next: string | undefined;
  /** Where the search stopped before the end of its period. */
  searchedTo: string | undefined;
}

export function auditBody(view: AuditView, { acts, next, searchedTo }: AuditPage): Html {
  const filters = filtersOf(view);
  const isFiltered = Boolean(view.search || view.group || view.actorId);
  return html`${filterForm(view, isFiltered)}
${view.actorId && acts[0] && html`<p class="notice">Only what ${acts[0].actor.name} did.</p>`}
${acts.length > 0 ? table(view, acts) : html`<p class="empty">${isFiltered ? 'Nothing matches' : 'Nothing has been done'} ${within(view.period, searchedTo)}.</p>`}
${pager({ ...view, filters }, next)}
${!next && furtherBack(view, searchedTo)}
${acts.length > 0 && html`<p class="export"><a class="button secondary" href="${listingAddress(`${view.path}.csv`, { q: view.search, ...filters })}" download>Export as CSV</a></p>`}`;
}

function filtersOf({ group, actorId, period }: AuditView): Record<string, string | undefined> {
  return { kind: group, by: actorId, period: period === USUAL_PERIOD ? undefined : String(period) };
}

function within(period: Period, searchedTo: string | undefined): string {
  if (searchedTo !== undefined) return 'so far';
  return period === 'all' ? 'yet' : `in the ${PERIODS[period].toLowerCase()}`;
}

/** A search reads so much of a log at a time; and beyond its period there may be more. */
function furtherBack(view: AuditView, searchedTo: string | undefined): Html | null {
  const { path, search, period } = view;
  const filters = filtersOf(view);
  if (searchedTo !== undefined) {
    const address = listingAddress(path, { q: search, ...filters, after: searchedTo });
    return html`<p class="notice">The log is long, and this search has read only a part of it. <a href="${address}" rel="next">Search further back</a></p>`;
  }
  const longer = nextLonger(period);
  if (longer === undefined) return null;
  const address = listingAddress(path, { q: search, ...filters, period: String(longer) });
  return html`<p class="muted small">This is the end of the ${PERIODS[period].toLowerCase()}. <a href="${address}">Search further back</a></p>`;
}

function filterForm({ path, search, groups, group, actorId, period }: AuditView, isFiltered: boolean): Html {
  const option = (value: Group) =>
    html`<option value="${value}" ${value === group && html`selected`}>${GROUPS[value]}</option>`;
  const periodOption = (value: Period) =>
    html`<option value="${String(value)}" ${value === period && html`selected`}>${PERIODS[value]}</option>`;
  return html`<form class="search" method="get" action="${path}" role="search">
<label class="visually-hidden" for="q">Name, address or id</label>
<input id="q" name="q" type="search" value="${search}" placeholder="Name, address or id" autocomplete="off" maxlength="100">
<label class="visually-hidden" for="kind">Kind</label>
<select id="kind" name="kind"><option value="">Everything</option>${groups.map(option)}</select>
<label class="visually-hidden" for="period">Period</label>
<select id="period" name="period">${listPeriods().map(periodOption)}</select>
${actorId && html`<input type="hidden" name="by" value="${actorId}">`}
<button class="secondary">Search</button>
${isFiltered && html`<a href="${path}">Show all</a>`}
</form>`;
}

function table(view: AuditView, acts: Act[]): Html {
  return html`<div class="table acts" role="region" aria-label="What was done" tabindex="0"><table>
<thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">On what</th>${view.namesBusiness && html`<th scope="col">Business</th>`}<th scope="col">Where from</th></tr></thead>
<tbody>${acts.map((act) => row(view, act))}</tbody>
</table></div>`;
}

function row({ path, namesBusiness }: AuditView, { at, actor, action, subject, business, detail }: Act): Html {
  const more = describeDetail(detail);
  return html`<tr><td>${preciseTime(at)}</td>
<td>${actor.id ? html`<a href="${listingAddress(path, { by: actor.id })}">${actor.name}</a>` : actor.name} ${badge(actor)} ${actor.email && html`<p class="more small muted">${actor.email}</p>`}</td>
<td>${actionName(action)} ${more && html`<p class="more small muted">${more}</p>`}</td>
<td>${subject.name || '—'}</td>${namesBusiness && html`<td>${business?.name ?? '—'}</td>`}
<td>${actor.address ?? (actor.kind === 'operator' ? 'Command line' : '—')}</td></tr>
`;
}

/** A person needs none, and an operator is called so. */
function badge({ kind }: Actor): Html | false {
  return (kind === 'platform' || kind === 'app') && html`<span class="badge">${kind}</span>`;
}
