import { type Act, actionName, describeDetail } from '../audit/act-log.ts';
import { type Actor, GROUPS, type Group } from '../audit/acts.ts';
import { type Html, html } from '../lib/html.ts';
import { preciseTime } from './fields.ts';
import { type Listing, listingAddress, pager } from './listing.ts';

/** What is asked of a log, and where the log is. */
interface AuditView extends Listing {
  path: string;
  groups: readonly Group[];
  group: Group | undefined;
  /** Only what this one did. */
  actorId: string | undefined;
  /** Where several businesses are in one log, each row says which. */
  namesBusiness: boolean;
}

export function auditBody(view: AuditView, acts: Act[], next: string | undefined): Html {
  const filters = { kind: view.group, by: view.actorId };
  const isFiltered = Boolean(view.search || view.group || view.actorId);
  return html`${filterForm(view, isFiltered)}
${view.actorId && acts[0] && html`<p class="notice">Only what ${acts[0].actor.name} did.</p>`}
${acts.length > 0 ? table(view, acts) : html`<p class="empty">${isFiltered ? 'Nothing matches.' : 'Nothing has been done yet.'}</p>`}
${pager({ ...view, filters }, next)}
${acts.length > 0 && html`<p class="export"><a class="button secondary" href="${listingAddress(`${view.path}.csv`, { q: view.search, ...filters })}" download>Export as CSV</a></p>`}`;
}

function filterForm({ path, search, groups, group, actorId }: AuditView, isFiltered: boolean): Html {
  const option = (value: Group) =>
    html`<option value="${value}" ${value === group && html`selected`}>${GROUPS[value]}</option>`;
  return html`<form class="search" method="get" action="${path}" role="search">
<label class="visually-hidden" for="q">Name, address or id</label>
<input id="q" name="q" type="search" value="${search}" placeholder="Name, address or id" autocomplete="off" maxlength="100">
<label class="visually-hidden" for="kind">Kind</label>
<select id="kind" name="kind"><option value="">Everything</option>${groups.map(option)}</select>
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
<td>${actor.address ?? 'Command line'}</td></tr>
`;
}

/** A person needs none, and an operator is called so. */
function badge({ kind }: Actor): Html | false {
  return (kind === 'platform' || kind === 'app') && html`<span class="badge">${kind}</span>`;
}
