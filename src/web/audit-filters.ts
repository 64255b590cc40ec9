import { findUserByEmail } from '../accounts/users.ts';
import { ACTION_GROUPS, type ActionGroup } from '../audit/entries.ts';
import { DAY, parseDay } from '../lib/clock.ts';
import { type Html, html } from '../lib/html.ts';
import { isId } from '../lib/ids.ts';
import type { Database } from '../storage/storage.ts';
import type { WebDeps } from './deps.ts';
import { ariaAttributes, type Form, problemText, text } from './forms.ts';
import { type Listing, readListing } from './listing.ts';

/** What a reader has chosen. */
export interface AuditFilters extends Listing {
  group: ActionGroup | undefined;
  /** The email address or the id of a person, as typed. */
  by: string;
  personId: string | undefined;
  period: Period;
  /** The first and the last day, like 2030-01-31. */
  from: string | undefined;
  to: string | undefined;
}

export async function readFilters(
  { storage }: WebDeps,
  query: Form,
  groups: readonly ActionGroup[],
): Promise<AuditFilters> {
  const [kind, by, period] = [text(query, 'kind'), text(query, 'by').trim(), text(query, 'period')];
  return {
    ...readListing(query),
    group: groups.find((group) => group === kind),
    by,
    personId: isId(by) ? by : await findPerson(storage.durable, by),
    period: readPeriod(period),
    from: readDay(query, 'from'),
    to: readDay(query, 'to'),
  };
}

/** Undefined if it is not an email address. An address without an account matches no entries, as if its user had done nothing here. */
async function findPerson(db: Database, email: string): Promise<string | undefined> {
  if (!email.includes('@')) return undefined;
  return (await findUserByEmail(db, email))?.id ?? NO_ID;
}

const NO_ID = '00000000-0000-0000-0000-000000000000';

function readDay(query: Form, name: string): string | undefined {
  const day = text(query, name);
  return parseDay(day) === undefined ? undefined : day;
}

/** Days are in UTC, like the times of the log. With a first or last day, the period is ignored. */
export function rangeOf({ period, from, to }: AuditFilters, now: number) {
  if (from === undefined && to === undefined) return { since: startOf(period, now) };
  const end = to === undefined ? undefined : parseDay(to);
  return { since: from === undefined ? undefined : parseDay(from), until: end === undefined ? undefined : end + DAY };
}

export function filtersOf({ group, by, period, from, to }: AuditFilters): Record<string, string | undefined> {
  const isDefault = period === DEFAULT_PERIOD || hasDays({ from, to });
  return { kind: group, by, period: isDefault ? undefined : String(period), from, to };
}

export function hasDays({ from, to }: Pick<AuditFilters, 'from' | 'to'>): boolean {
  return from !== undefined || to !== undefined;
}

/** Nothing is between these days. */
export function isReversed({ from, to }: Pick<AuditFilters, 'from' | 'to'>): boolean {
  return from !== undefined && to !== undefined && from > to;
}

export function periodText(view: AuditFilters, searchedTo: string | undefined): string {
  if (searchedTo !== undefined) return 'so far';
  if (hasDays(view)) return 'on these days';
  const { period } = view;
  return period === 'all' ? 'yet' : `in the ${PERIODS[period].toLowerCase()}`;
}

export function filterForm(
  { search, group, by, period, from, to }: AuditFilters,
  { path, groups, isFiltered }: { path: string; groups: readonly ActionGroup[]; isFiltered: boolean },
): Html {
  const option = (value: ActionGroup) =>
    html`<option value="${value}" ${value === group && html`selected`}>${ACTION_GROUPS[value]}</option>`;
  const isCustom = Boolean(from || to);
  const periodOption = (value: Period) =>
    html`<option value="${String(value)}" ${value === period && !isCustom && html`selected`}>${PERIODS[value]}</option>`;
  const wrong = isReversed({ from, to });
  const isNarrowed = Boolean(group || by || from || to || period !== DEFAULT_PERIOD);
  return html`<form class="card filters" method="get" action="${path}" role="search">
<div class="field wide"><label for="q">Search</label><input id="q" name="q" type="search" value="${search}" placeholder="Name, address or ID" autocomplete="off" maxlength="100"></div>
<details ${isNarrowed && html`open`}><summary>Filters</summary>
<div class="field wide"><label for="by">Email of a person</label><input id="by" name="by" value="${by}" autocomplete="off" maxlength="320"></div>
<div class="field"><label for="kind">Type</label><select id="kind" name="kind"><option value="">Everything</option>${groups.map(option)}</select></div>
<div class="field"><label for="period">Period</label><select id="period" name="period">${isCustom && html`<option value="custom" selected>Custom</option>`}${listPeriods().map(periodOption)}</select></div>
<div class="field"><label for="from">From</label><input id="from" name="from" type="date" value="${from ?? ''}"></div>
<div class="field"><label for="to">To</label><input id="to" name="to" type="date" value="${to ?? ''}" ${ariaAttributes('to', { wrong })}>${wrong && problemText({ field: 'to', message: 'The last day is before the first.' })}</div>
</details>
<div class="actions"><button class="secondary">Search</button>
${isFiltered && html`<a href="${path}">Show all</a>`}</div>
</form>`;
}

/** The time ranges in which a log can be searched, the shortest first. */
export const PERIODS = {
  7: 'Last 7 days',
  30: 'Last 30 days',
  90: 'Last 90 days',
  365: 'Last 365 days',
  all: 'All time',
} as const;

type Period = keyof typeof PERIODS;

const DEFAULT_PERIOD: Period = 90;

function readPeriod(text: string): Period {
  return listPeriods().find((period) => String(period) === text) ?? DEFAULT_PERIOD;
}

function startOf(period: Period, now: number): number | undefined {
  return period === 'all' ? undefined : now - period * DAY;
}

export function nextLonger(period: Period): Period | undefined {
  const all = listPeriods();
  return all[all.indexOf(period) + 1];
}

function listPeriods(): Period[] {
  return Object.keys(PERIODS).map((name) => (name === 'all' ? name : (Number(name) as Period)));
}
