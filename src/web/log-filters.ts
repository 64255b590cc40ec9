import { DAY, HOUR } from '../lib/clock.ts';
import { type Html, html } from '../lib/html.ts';
import { emptyState } from './components/display.ts';
import { segments } from './components/structure.ts';
import { type Form, text } from './forms.ts';
import { listingUrl, readListing } from './listing.ts';

const TIMES = {
  hour: { words: 'Last hour', length: HOUR },
  day: { words: 'Last 24 hours', length: DAY },
  week: { words: 'Last 7 days', length: 7 * DAY },
} as const;

type Time = keyof typeof TIMES;

/** A log that can be filtered by status, time and id. */
export interface Log<Status extends string> {
  /** What the entries are, like `requests`. */
  noun: string;
  statuses: Record<Status, string>;
  /** Shorter than the retention. */
  times: readonly Time[];
  searchLabel: string;
}

/** What a reader has chosen. */
export interface LogFilters<Status extends string> {
  search: string;
  status: Status | undefined;
  time: Time | undefined;
}

export function readLogFilters<Status extends string>(
  { statuses, times }: Log<Status>,
  query: Form,
): LogFilters<Status> {
  const [status, time] = [text(query, 'status'), text(query, 'time')];
  return {
    search: readListing(query).search,
    status: Object.hasOwn(statuses, status) ? (status as Status) : undefined,
    time: times.find((each) => each === time),
  };
}

export function startOfTime({ time }: { time: Time | undefined }, now: number): number | undefined {
  return time && now - TIMES[time].length;
}

export function isFiltered({ search, status, time }: LogFilters<string>): boolean {
  return Boolean(search || status || time);
}

/** `kept` are parameters of the page that are not filters of its log. */
interface LogPage {
  path: string;
  kept?: Record<string, string | undefined>;
}

export function statusFilter<Status extends string>(
  { noun, statuses }: Log<Status>,
  { search, status, time }: LogFilters<Status>,
  { path, kept }: LogPage,
): Html {
  const link = (name: string, value: string | undefined) => ({
    name,
    to: listingUrl(path, { q: search, status: value, time, ...kept }),
    isHere: value === status,
  });
  const named = Object.entries<string>(statuses).map(([value, name]) => link(name, value));
  return segments(`Status of ${noun}`, [link('All', undefined), ...named]);
}

export function timeForm(
  { times, searchLabel }: Log<string>,
  filters: LogFilters<string>,
  { path, kept = {} }: LogPage,
): Html {
  const { search, status, time } = filters;
  const hidden = Object.entries({ status, ...kept }).filter(([, value]) => value);
  return html`<form class="search" method="get" action="${path}" role="search">
${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<label class="visually-hidden" for="q">${searchLabel}</label>
<input id="q" name="q" type="search" value="${search}" placeholder="${searchLabel}" autocomplete="off" maxlength="100">
<label class="visually-hidden" for="time">Time</label>
<select id="time" name="time"><option value="">Any time</option>${times.map((each) => html`<option value="${each}" ${each === time && html`selected`}>${TIMES[each].words}</option>`)}</select>
<button class="secondary">Filter</button>
${isFiltered(filters) && html`<a href="${listingUrl(path, kept)}">Clear filters</a>`}
</form>`;
}

export function noMatch({ noun }: { noun: string }, { path, kept = {} }: LogPage, hint = ''): Html {
  return emptyState({
    icon: 'search',
    title: `No ${noun} match`,
    text: hint || `No ${noun} match these filters.`,
    action: html`<p><a class="button" href="${listingUrl(path, kept)}">Clear filters</a></p>`,
  });
}
