import { DAY, HOUR } from '../../lib/clock.ts';
import type { Counts, HourlyCounts } from '../../request-log/counts.ts';

/** The period of a chart, and its resolution. */
export interface Period {
  name: 'day' | 'month';
  /** Follows "in the last". */
  words: string;
  steps: number;
  /** A label of the time axis covers so many steps. */
  stepsPerLabel: number;
}

export const PERIODS: readonly [Period, Period] = [
  { name: 'day', words: '24 hours', steps: 24, stepsPerLabel: 6 },
  { name: 'month', words: '30 days', steps: 30, stepsPerLabel: 5 },
];

export function readPeriod(name: string): Period {
  return PERIODS.find((period) => period.name === name) ?? PERIODS[0];
}

/** The current, incomplete step is the last one. A month begins a day early, since its days are those of the reader's zone. */
export function startOf({ name, steps }: Period, now: number): number {
  return name === 'day' ? (hourOf(now) - steps + 1) * HOUR : (Math.floor(now / DAY) - steps) * DAY;
}

/** The name of a time zone from a request, or UTC. */
export function readZone(name: unknown): string {
  if (typeof name !== 'string' || !/^[\w+/-]{1,64}$/.test(name)) return 'UTC';
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return 'UTC';
  }
}

/** As the script formats dates: for the reader if they read English, as the pages are. */
export function readLocale(acceptLanguage = ''): string {
  const [first = ''] = acceptLanguage.split(/[,;]/);
  if (first === '' || first === '*') return 'en-GB';
  return /^en(-[A-Za-z]{2})?$/.test(first) ? first : 'en';
}

/** When and where a chart is read. */
export interface Reader {
  now: number;
  zone: string;
  locale: string;
}

export interface Bar extends Counts {
  /** On the time axis. */
  label: string;
  /** In the table and the tooltip. */
  title: string;
}

const NONE: Counts = { requests: 0, errors: 0, refreshes: 0 };

/** One for each hour or day of the period, oldest first. */
export function toBars(period: Period, counts: HourlyCounts[], { now, zone, locale }: Reader): Bar[] {
  const steps =
    period.name === 'day' ? listHours(period, { now, zone, locale }) : listDays(period, { now, zone, locale });
  const keyOf = period.name === 'day' ? String : dayKeys(zone);
  const sums = new Map<string, Counts>();
  for (const each of counts) {
    const key = keyOf(each.hour * HOUR);
    sums.set(key, add(sums.get(key) ?? NONE, each));
  }
  return steps.map(({ key, ...step }) => ({ ...step, ...(sums.get(key) ?? NONE) }));
}

export function add(a: Counts, b: Counts): Counts {
  return {
    requests: a.requests + b.requests,
    errors: a.errors + b.errors,
    refreshes: a.refreshes + b.refreshes,
  };
}

interface Step {
  key: string;
  label: string;
  title: string;
}

function listHours(period: Period, { now, zone, locale }: Reader): Step[] {
  const time = new Intl.DateTimeFormat(locale, { timeZone: zone, timeStyle: 'short' });
  const date = new Intl.DateTimeFormat(locale, { timeZone: zone, day: 'numeric', month: 'short' });
  const start = startOf(period, now);
  return Array.from({ length: period.steps }, (_, i) => {
    const at = start + i * HOUR;
    return { key: String(at), label: time.format(at), title: `${date.format(at)}, ${time.format(at)}` };
  });
}

function listDays({ steps }: Period, { now, zone, locale }: Reader): Step[] {
  const label = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', day: 'numeric', month: 'short' });
  const today = Date.parse(dayKeys(zone)(now));
  return Array.from({ length: steps }, (_, i) => {
    const day = today - (steps - 1 - i) * DAY;
    return { key: new Date(day).toISOString().slice(0, 10), label: label.format(day), title: label.format(day) };
  });
}

/** The date in the zone, as 2030-01-31. */
function dayKeys(zone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  return (at) => format.format(at);
}

function hourOf(at: number): number {
  return Math.floor(at / HOUR);
}
