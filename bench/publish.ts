import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { type Chart, drawChart } from './charts.ts';
import { round, scenariosOf, writeReport } from './report.ts';
import { find, type Results } from './results.ts';
import { comparePostgres, sizesOf, titleOfEngine } from './verdicts.ts';

const root = new URL('../', import.meta.url);

/** Writes the results, the report and its charts. */
export function publish(results: Results, folder: URL = root): void {
  const locate = (path: string) => new URL(path, folder);
  mkdirSync(locate('bench/results'), { recursive: true });
  writeFileSync(locate('bench/results/latest.json'), `${JSON.stringify(results, withFewerDigits, 1)}\n`);
  rmSync(locate('docs/performance'), { recursive: true, force: true });
  mkdirSync(locate('docs/performance'), { recursive: true });
  for (const [name, chart] of chartsOf(results))
    writeFileSync(locate(`docs/performance/${name}.svg`), drawChart(chart));
  writeFileSync(locate('docs/performance.md'), writeReport(results));
}

function withFewerDigits(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;
}

function chartsOf(results: Results): [name: string, chart: Chart][] {
  const charts = scenariosOf(results).map(({ name, title, description }): [string, Chart] => {
    const bars = results.contenders.flatMap(({ name: contender, title: label }) => {
      const perSecond = find(results.measured, contender, name)?.perSecond;
      if (!perSecond) return [];
      const isOurs = contender.startsWith('gatehouse');
      return [{ label, value: perSecond.median, text: round(perSecond.median), isOurs }];
    });
    return [name, { title, unit: `per second; more is better: ${description}`, bars }];
  });
  const overview = comparePostgres(results);
  return [
    ...(overview.length > 0 ? [['overview', overviewChart(overview)] as [string, Chart]] : []),
    ...charts,
    ...(results.growth.length > 0 ? [['growth', growthChart(results)] as [string, Chart]] : []),
  ];
}

function overviewChart(multiples: { title: string; ratio: number }[]): Chart {
  const bars = multiples.map(({ title, ratio }) => ({
    label: title,
    value: ratio,
    text: `${ratio.toFixed(1)} ×`,
    isOurs: true,
  }));
  return {
    title: 'Gatehouse against oidc-provider',
    unit: 'requests a second as a multiple, both on the same PostgreSQL',
    bars,
  };
}

function growthChart({ growth }: Results): Chart {
  const bars = growth.flatMap(({ engine, measured }) =>
    sizesOf(measured).map((size) => {
      const value = find(measured, String(size), 'refresh')?.perSecond?.median ?? 0;
      return { label: `${titleOfEngine(engine)}, ${round(size)}`, value, text: round(value), isOurs: true };
    }),
  );
  return {
    title: 'Refreshes as the database grows',
    unit: 'per second, by grants in the database; more is better',
    bars,
  };
}
