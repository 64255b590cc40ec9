import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Metric, newHistogram, renderMetrics } from '../../src/telemetry/registry.ts';
import { readExposition } from './exposition.ts';

const gauge = (read: Metric['read'], help = 'What it is.'): Metric => ({ name: 'a_gauge', help, type: 'gauge', read });

test('any text can be a label or an explanation, and comes back as it was', () => {
  const unit = fc.constantFrom('"', '\\', '\n', '\r', '}', ',', '=', ' ', 'n', 'é', '😀');
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      const [family] = readExposition(
        renderMetrics([gauge(() => [{ labels: { text }, value: 1 }], `x${text}`)]),
      ).values();
      assert.equal(family?.series[0]?.labels.text, text);
    }),
  );
});

test('a histogram counts what lies at or below each bound, and adds it all up', () => {
  const histogram = newHistogram([0.1, 1]);
  for (const value of [0, 0.1, 0.5, 1, 7]) histogram.observe(value);
  const metric: Metric = {
    name: 'took_seconds',
    help: 'Time.',
    type: 'histogram',
    read: () => histogram.read({ route: '/x' }),
  };

  const text = renderMetrics([metric]);

  readExposition(text);
  assert.deepEqual(text.split('\n').slice(2, -1), [
    'took_seconds_bucket{route="/x",le="0.1"} 2',
    'took_seconds_bucket{route="/x",le="1"} 4',
    'took_seconds_bucket{route="/x",le="+Inf"} 5',
    'took_seconds_sum{route="/x"} 8.6',
    'took_seconds_count{route="/x"} 5',
  ]);
});

test('the reader that the other tests rely on refuses what is not sound', () => {
  const sample = { labels: { a: '1' }, value: 1 };
  const twice = renderMetrics([gauge(() => [sample, sample])]);
  const unsound = [
    twice,
    'a_gauge 1\n',
    '# HELP a x\n# TYPE a gauge\nb 1\n',
    '# HELP a x\n# TYPE a gauge\na{l="x"y"} 1\n',
    '# HELP a x\n# TYPE a gauge\na one\n',
    '# HELP a x\n# TYPE a gauge\na 1',
    '# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
  ];

  for (const text of unsound) assert.throws(() => readExposition(text), text);
});
