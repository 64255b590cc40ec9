import assert from 'node:assert/strict';

export interface Series {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Family {
  type: string;
  help: string;
  series: Series[];
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = '([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\\\\n]|\\\\["\\\\n])*)"';
const LINE = new RegExp(`^(${NAME})(?:\\{((?:${LABEL},)*${LABEL})\\})? (\\S+)$`);
const NUMBER = /^(?:[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf)|NaN)$/i;

/** A strict parser: rejects text that Prometheus would reject or warn about. */
export function readExposition(text: string): Map<string, Family> {
  assert.ok(text.endsWith('\n'), 'the last line ends');
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    // The format ignores empty lines.
    if (line === '') continue;
    const [, kind, name = '', rest = ''] = new RegExp(`^# (HELP|TYPE) (${NAME}) ([^\\n]+)$`).exec(line) ?? [];
    if (kind === 'HELP') {
      assert.equal(families.has(name), false, `${name} comes once`);
      families.set(name, { type: '', help: rest, series: [] });
      current = name;
    } else if (kind === 'TYPE') {
      assert.equal(name, current, 'TYPE follows its HELP');
      assert.match(rest, /^(counter|gauge|histogram)$/);
      (families.get(name) as Family).type = rest;
    } else {
      const series = readSeries(line);
      const family = families.get(current) as Family;
      assert.ok(endingsOf(family.type).includes(series.name.replace(current, '')), `${line} stands under ${current}`);
      const key = `${series.name} ${JSON.stringify(Object.entries(series.labels).sort())}`;
      assert.equal(seen.has(key), false, `${line} comes once`);
      seen.add(key);
      family.series.push(series);
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') assertHistogram(name, family);
  return families;
}

function endingsOf(type: string): string[] {
  return type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
}

function readSeries(line: string): Series {
  const found = LINE.exec(line);
  assert.ok(found, `this is no sample: ${line}`);
  const [, name = '', labels = ''] = found;
  const value = found.at(-1) ?? '';
  assert.match(value, NUMBER);
  const pairs = [...labels.matchAll(new RegExp(LABEL, 'g'))].map(([, label = '', escaped = '']) => [
    label,
    escaped.replace(/\\(.)/g, (_, letter) => (letter === 'n' ? '\n' : letter)),
  ]);
  assert.equal(new Set(pairs.map(([label]) => label)).size, pairs.length, `each label once: ${line}`);
  return { name, labels: Object.fromEntries(pairs), value: Number(value.replace('Inf', 'Infinity')) };
}

/** Checks each histogram: its bounds ascend, its counts never decrease, and the last one is the total. */
function assertHistogram(name: string, { series }: Family): void {
  const byLabels = Map.groupBy(series, ({ labels: { le: _, ...rest } }) => JSON.stringify(rest));
  for (const [labels, ofOne] of byLabels) {
    const buckets = ofOne.filter((each) => each.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels: { le = '' } }) => Number(le.replace('+Inf', 'Infinity')));
    const counts = buckets.map(({ value }) => value);
    assert.deepEqual(
      bounds,
      bounds.toSorted((a, b) => a - b),
      labels,
    );
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
      labels,
    );
    assert.equal(bounds.at(-1), Infinity);
    assert.equal(counts.at(-1), ofOne.find((each) => each.name === `${name}_count`)?.value, labels);
    assert.ok((ofOne.find((each) => each.name === `${name}_sum`)?.value ?? -1) >= 0);
  }
}
