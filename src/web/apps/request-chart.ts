import { type Html, html } from '../../lib/html.ts';
import type { Counts, HourlyCounts } from '../../request-log/counts.ts';
import { add, type Bar, type Period, type Reader, toBars } from './request-bars.ts';

const WIDTH = 720;
const HEIGHT = 180;
const GAP = 2;

/** The SVG is stretched, so it has shapes only. Labels and numbers are HTML text, which can be read aloud, zoomed and searched. */
export function chart(period: Period, counts: HourlyCounts[], reader: Reader): Html {
  const { zone } = reader;
  const bars = toBars(period, counts, reader);
  const total = bars.reduce<Counts>(add, { requests: 0, errors: 0, refreshes: 0 });
  if (total.requests === 0) return html`<p class="empty">No requests in the last ${period.words}.</p>`;
  const max = Math.max(...bars.map(({ requests }) => requests));
  const ticks = listTicks(max);
  const unit = period.name === 'day' ? 'an hour' : 'a day';
  const label = `In the last ${period.words}: ${describeCounts(total)}. At most ${count(max, 'request', 's')} in ${unit}.`;
  return html`<figure class="chart">
<figcaption><ul class="legend">
<li class="requests">Requests <strong>${total.requests}</strong></li>
<li class="errors">Errors <strong>${total.errors}</strong></li>
<li class="refreshes">Refreshes <strong>${total.refreshes}</strong></li>
<li class="zone">Times in ${zone}</li>
</ul></figcaption>
<div class="plot">
<ol class="y-axis" aria-hidden="true">${ticks.map((tick) => html`<li>${tick.toLocaleString('en')}</li>`)}</ol>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">
${ticks.map((_, i) => gridLine(i / (ticks.length - 1)))}
${bars.map((bar, index) => drawBar(bar, index, { count: bars.length, top: ticks[0] ?? max }))}
<polyline class="refreshes" points="${refreshLine(bars, ticks[0] ?? max)}"/>
</svg>
<ol class="x-axis" aria-hidden="true">${bars.filter((_, i) => i % period.stepsPerLabel === 0).map((bar) => html`<li>${bar.label}</li>`)}</ol>
</div>
<details><summary>View as table</summary>${table(bars, period, zone)}</details>
</figure>`;
}

/** From the top down to 0: at most five, at round numbers. */
function listTicks(max: number): number[] {
  const magnitude = 10 ** Math.floor(Math.log10(max));
  const step = [0.25, 0.5, 1, 2, 2.5, 5]
    .map((factor) => factor * magnitude)
    .find((each) => Number.isInteger(each) && max <= 4 * each);
  const size = step ?? 1;
  return Array.from({ length: Math.ceil(max / size) + 1 }, (_, i) => i * size).reverse();
}

function gridLine(share: number): Html {
  const y = round(share * HEIGHT);
  return html`<line x1="0" x2="${WIDTH}" y1="${y}" y2="${y}"/>`;
}

/** Errors are part of the requests, so they are drawn inside the bar. The pointer may be anywhere above it. */
function drawBar(bar: Bar, index: number, { count, top }: { count: number; top: number }): Html {
  const width = WIDTH / count;
  const rect = (name: string, height: number) =>
    html`<rect class="${name}" x="${round(index * width + GAP / 2)}" y="${round(HEIGHT - height)}" width="${round(width - GAP)}" height="${round(height)}"/>`;
  const part = (name: string, value: number) => value > 0 && rect(name, (value / top) * HEIGHT);
  return html`<g class="bar"><title>${bar.title}: ${describeCounts(bar)}</title>${rect('column', HEIGHT)}${part('requests', bar.requests)}${part('errors', bar.errors)}</g>`;
}

function refreshLine(bars: Bar[], top: number): string {
  const width = WIDTH / bars.length;
  const points = bars.map(({ refreshes }, index) => {
    return `${round((index + 0.5) * width)},${round(HEIGHT - (refreshes / top) * HEIGHT)}`;
  });
  return points.join(' ');
}

function table(bars: Bar[], period: Period, zone: string): Html {
  const rows = bars
    .filter(({ requests }) => requests > 0)
    .map(
      ({ title, requests, errors, refreshes }) =>
        html`<tr><th scope="row">${title}</th><td>${requests}</td><td>${errors}</td><td>${refreshes}</td></tr>`,
    );
  return html`<table><thead><tr><th scope="col">${period.name === 'day' ? 'Hour from' : 'Day'} (${zone})</th><th scope="col">Requests</th><th scope="col">Errors</th><th scope="col">Refreshes</th></tr></thead>
<tbody>${rows}</tbody></table>`;
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
