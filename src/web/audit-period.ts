import { DAY } from '../lib/clock.ts';

/** The time ranges in which a log can be searched, the shortest first. */
export const PERIODS = {
  7: 'Last 7 days',
  30: 'Last 30 days',
  90: 'Last 90 days',
  365: 'Last 365 days',
  all: 'All time',
} as const;

export type Period = keyof typeof PERIODS;

export const USUAL_PERIOD: Period = 90;

export function readPeriod(text: string): Period {
  return listPeriods().find((period) => String(period) === text) ?? USUAL_PERIOD;
}

export function startOf(period: Period, now: number): number | undefined {
  return period === 'all' ? undefined : now - period * DAY;
}

export function nextLonger(period: Period): Period | undefined {
  const all = listPeriods();
  return all[all.indexOf(period) + 1];
}

export function listPeriods(): Period[] {
  return Object.keys(PERIODS).map((name) => (name === 'all' ? name : (Number(name) as Period)));
}
