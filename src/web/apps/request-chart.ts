import { DAY, HOUR } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import type { Counts, HourlyCounts } from '../../request-log/counts.ts';

/** The period of a chart, and its resolution. */
export interface Period {
  name: 'day' | 'month';
  /** Follows "in the last". */
  words: string;
  step: number;
  steps: number;
}

export const PERIODS: readonly [Period, Period] = [
  { name: 'day', words: '24 hours', step: HOUR, steps: 24 },
  { name: 'month', words: '30 days', step: DAY, steps: 30 },
];

export function readPeriod(name: string): Period {
  return PERIODS.find((period) => period.name === name) ?? PERIODS[0];
}

/** The current, incomplete step is the last one. */
export function startOf({ step, steps }: Period, now: number): number {
  return (Math.floor(now / step) - steps + 1) * step;
}

interface Bar extends Counts {
  at: number;
}

const WIDTH = 720;
const HEIGHT = 160;
const GAP = 2;

/** The SVG has shapes only; labels and numbers are HTML text, which can be read aloud, zoomed and searched. */
export function chart(period: Period, counts: HourlyCounts[], now: number): Html {
  const bars = toBars(period, counts, now);
  const total = bars.reduce(add, { requests: 0, errors: 0, refreshes: 0 });
  if (total.requests === 0) return html`<p class="empty">No requests in the last ${period.words}.</p>`;
  const max = Math.max(...bars.map(({ requests }) => requests));
  const when = (at: number) => inUtc(period, at);
  const unit = period.name === 'day' ? 'an hour' : 'a day';
  const label = `In the last ${period.words}: ${describeCounts(total)}. At most ${count(max, 'request', 's')} in ${unit}.`;
  return html`<figure class="chart">
<figcaption><ul class="legend">
<li class="requests">Requests <strong>${total.requests}</strong></li>
<li class="errors">Errors <strong>${total.errors}</strong></li>
<li class="refreshes">Refreshes <strong>${total.refreshes}</strong></li>
<li class="most">At most ${max} in ${unit}</li>
</ul></figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">
${bars.map((bar, index) => drawBar(bar, index, { count: bars.length, max }))}
<polyline class="refreshes" points="${refreshLine(bars, max)}"/>
</svg>
<div class="ends"><span>${when(bars[0]?.at ?? now)} UTC</span><span>${when(now)} UTC</span></div>
<details><summary>View as table</summary>${table(bars, period)}</details>
</figure>`;
}

function toBars(period: Period, counts: HourlyCounts[], now: number): Bar[] {
  const start = startOf(period, now);
  const bars = Array.from({ length: period.steps }, (_, index) => ({
    at: start + index * period.step,
    requests: 0,
    errors: 0,
    refreshes: 0,
  }));
  for (const each of counts) {
    const index = Math.floor((each.hour * HOUR - start) / period.step);
    const bar = bars[index];
    if (bar) bars[index] = { at: bar.at, ...add(bar, each) };
  }
  return bars;
}

function add(a: Counts, b: Counts): Counts {
  return {
    requests: a.requests + b.requests,
    errors: a.errors + b.errors,
    refreshes: a.refreshes + b.refreshes,
  };
}

/** Errors are part of the requests, so they are drawn inside the bar. */
function drawBar(bar: Bar, index: number, { count, max }: { count: number; max: number }): Html | null {
  if (bar.requests === 0) return null;
  const width = WIDTH / count;
  const rect = (name: string, value: number) => {
    const height = round((value / max) * HEIGHT);
    return html`<rect class="${name}" x="${round(index * width + GAP / 2)}" y="${round(HEIGHT - height)}" width="${round(width - GAP)}" height="${height}"/>`;
  };
  return html`<g><title>${describeCounts(bar)}</title>${rect('requests', bar.requests)}${bar.errors > 0 && rect('errors', bar.errors)}</g>`;
}

function refreshLine(bars: Bar[], max: number): string {
  const width = WIDTH / bars.length;
  const points = bars.map(({ refreshes }, index) => {
    return `${round((index + 0.5) * width)},${round(HEIGHT - (refreshes / max) * HEIGHT)}`;
  });
  return points.join(' ');
}

function table(bars: Bar[], period: Period): Html {
  const rows = bars
    .filter(({ requests }) => requests > 0)
    .map(
      ({ at, requests, errors, refreshes }) =>
        html`<tr><th scope="row">${inUtc(period, at)}</th><td>${requests}</td><td>${errors}</td><td>${refreshes}</td></tr>`,
    );
  return html`<table><thead><tr><th scope="col">${period.name === 'day' ? 'Hour from (UTC)' : 'Day (UTC)'}</th><th scope="col">Requests</th><th scope="col">Errors</th><th scope="col">Refreshes</th></tr></thead>
<tbody>${rows}</tbody></table>`;
}

/** In UTC, because the counts are per UTC day. The script that localises <time> does not change plain text. */
function inUtc({ name }: Period, at: number): string {
  const iso = new Date(at).toISOString();
  return name === 'day' ? iso.slice(0, 16).replace('T', ' ') : iso.slice(0, 10);
}

function describeCounts({ requests, errors, refreshes }: Counts): string {
  const parts = [count(requests, 'request', 's'), count(errors, 'error', 's'), count(refreshes, 'refresh', 'es')];
  return parts.join(', ');
}

function count(number: number, noun: string, plural: string): string {
  return `${number} ${noun}${number === 1 ? '' : plural}`;
}

function round(length: number): number {
  return Math.round(length * 10) / 10;
}
