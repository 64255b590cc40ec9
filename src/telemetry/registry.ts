/** What Prometheus reads: https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4 of the text. */
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type Labels = Readonly<Record<string, string>>;

/** One line of it. */
export interface Sample {
  /** What a histogram puts behind the name: `_bucket`, `_sum` or `_count`. */
  ending?: string;
  labels?: Labels;
  value: number;
}

/** One metric: everything that goes under one name. It is listed even while there is nothing to tell. */
export interface Metric {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  read(): Iterable<Sample>;
}

export function renderMetrics(metrics: Iterable<Metric>): string {
  let text = '';
  for (const { name, help, type, read } of metrics) {
    text += `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    for (const { ending = '', labels = {}, value } of read()) {
      text += `${name}${ending}${renderLabels(labels)} ${renderValue(value)}\n`;
    }
  }
  return text;
}

/** Something that only grows. Its cells are kept by whoever counts, so that counting is an addition and no more. */
export interface Cell {
  value: number;
}

/** Counts apart by one label, whose values are the few that the code names. */
export function newCounter(name: string, help: string, label: string, values: readonly string[]) {
  const cells = new Map<string, Cell>(values.map((value) => [value, { value: 0 }]));
  const metric: Metric = {
    name,
    help,
    type: 'counter',
    read: () => [...cells].map(([value, cell]) => ({ labels: { [label]: value }, value: cell.value })),
  };
  const add = (value: string, by: number) => {
    const cell = cells.get(value);
    if (cell) cell.value += by;
  };
  return { metric, add };
}

/** How many lay at or below each bound, and what all of them add up to. */
export interface Histogram {
  observe(value: number): void;
  read(labels: Labels): Sample[];
}

export function newHistogram(bounds: readonly number[]): Histogram {
  const counts = new Float64Array(bounds.length + 1);
  let sum = 0;
  return {
    observe(value) {
      let place = 0;
      while (place < bounds.length && value > (bounds[place] as number)) place += 1;
      counts[place] = (counts[place] as number) + 1;
      sum += value;
    },
    read(labels) {
      let below = 0;
      const buckets = [...counts].map((count, place) => {
        below += count;
        return { ending: '_bucket', labels: { ...labels, le: renderValue(bounds[place] ?? Infinity) }, value: below };
      });
      return [...buckets, { ending: '_sum', labels, value: sum }, { ending: '_count', labels, value: below }];
    },
  };
}

function renderLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

function renderValue(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
