import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { readGauge, type Sample } from '../../src/telemetry/metrics.ts';
import { readExposition } from './exposition.ts';

async function renderGauge(samples: Sample[], labelNames: string[], help = 'What it is.'): Promise<string> {
  const registry = new Registry();
  readGauge(registry, 'a_gauge', help, () => samples, labelNames);
  return registry.metrics();
}

test('any text can be a label or a help text, and is parsed back unchanged', async () => {
  const unit = fc.constantFrom('"', '\\', '\n', '\r', '}', ',', '=', ' ', 'n', 'é', '😀');
  await fc.assert(
    fc.asyncProperty(fc.string({ unit }), async (text) => {
      const [family] = readExposition(
        await renderGauge([{ labels: { text }, value: 1 }], ['text'], `x${text}`),
      ).values();
      assert.equal(family?.series[0]?.labels.text, text);
    }),
  );
});

test('a gauge without a value is listed without samples', async () => {
  const [family] = readExposition(await renderGauge([], [])).values();

  assert.deepEqual(family?.series, []);
});

test('a histogram counts the values at or below each bound, and their sum', async () => {
  const registry = new Registry();
  const histogram = new Histogram({
    name: 'took_seconds',
    help: 'Time.',
    labelNames: ['route'],
    buckets: [0.1, 1],
    registers: [registry],
  });
  for (const value of [0, 0.1, 0.5, 1, 7]) histogram.observe({ route: '/x' }, value);

  const text = await registry.metrics();

  readExposition(text);
  assert.deepEqual(text.split('\n').slice(2, -1), [
    'took_seconds_bucket{le="0.1",route="/x"} 2',
    'took_seconds_bucket{le="1",route="/x"} 4',
    'took_seconds_bucket{le="+Inf",route="/x"} 5',
    'took_seconds_sum{route="/x"} 8.6',
    'took_seconds_count{route="/x"} 5',
  ]);
});

test('the parser of the other tests rejects invalid text', () => {
  const unsound = [
    '# HELP a x\n# TYPE a gauge\na{l="1"} 1\na{l="1"} 1\n',
    'a_gauge 1\n',
    '# HELP a x\n# TYPE a gauge\nb 1\n',
    '# HELP a x\n# TYPE a gauge\na{l="x"y"} 1\n',
    '# HELP a x\n# TYPE a gauge\na one\n',
    '# HELP a x\n# TYPE a gauge\na 1',
    '# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
  ];

  for (const text of unsound) assert.throws(() => readExposition(text), text);
});
