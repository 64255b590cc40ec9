import type { Contender } from './contender.ts';
import type { Measured } from './measure.ts';
import type { Results } from './results.ts';
import { SCENARIOS } from './scenarios/all.ts';
import { judge } from './verdicts.ts';

/** For a terminal: one line per contender, one column per scenario. */
export function printTables(measured: Measured[], contenders: Contender[]): string {
  const scenarios = SCENARIOS.filter(({ name }) => measured.some(({ scenario }) => scenario === name));
  const table = (title: string, cell: (found: Measured) => string) =>
    [
      title,
      line(['', ...scenarios.map((scenario) => scenario.title)]),
      ...contenders.map((contender) =>
        line([contender.title, ...scenarios.map(({ name }) => cell(find(contender, name)))]),
      ),
    ].join('\n');
  const find = (contender: Contender, scenario: string) =>
    measured.find((each) => each.contender === contender.name && each.scenario === scenario) as Measured;
  return [
    ...compareCheckouts(measured, scenarios),
    table('Iterations per second: median of the rounds (minimum–maximum)', ({ perSecond }) =>
      perSecond ? `${round(perSecond.median)} (${round(perSecond.min)}–${round(perSecond.max)})` : '–',
    ),
    table('Milliseconds at 80 % of the peak: median, 99th percentile', ({ latency }) =>
      latency ? `${latency.median.toFixed(2)}, ${latency.p99.toFixed(2)}` : '–',
    ),
    table('Microseconds of CPU time of the server per iteration', ({ cpu }) => (cpu === null ? '–' : round(cpu))),
  ].join('\n\n');
}

/** The ratio of this checkout to the other, if there is one. */
function compareCheckouts(measured: Measured[], scenarios: { name: string; title: string }[]): string[] {
  const engines = ['sqlite', 'postgres'].filter((engine) =>
    measured.some((each) => each.contender === `other-${engine}`),
  );
  if (engines.length === 0) return [];
  const cell = (engine: string, scenario: string) => {
    const [ours, theirs] = ['gatehouse', 'other'].map((checkout) =>
      measured.find((each) => each.contender === `${checkout}-${engine}` && each.scenario === scenario),
    );
    if (!ours?.perSecond || !theirs?.perSecond || !ours.cpu || !theirs.cpu) return '–';
    return `${(ours.perSecond.median / theirs.perSecond.median).toFixed(2)} (${(theirs.cpu / ours.cpu).toFixed(2)})`;
  };
  return [
    [
      'This checkout / the other: per second (per CPU second)',
      line(['', ...scenarios.map(({ title }) => title)]),
      ...engines.map((engine) => line([engine, ...scenarios.map(({ name }) => cell(engine, name))])),
    ].join('\n'),
  ];
}

export function printVerdicts(results: Results): string {
  return judge(results)
    .map(({ what, wanted, found, isMet }) => `${isMet ? '✔' : '✘'} ${what}: ${found} (required: ${wanted})`)
    .join('\n');
}

function line([first = '', ...cells]: string[]): string {
  return first.padEnd(30) + cells.map((cell) => cell.padStart(24)).join('');
}

function round(number: number): string {
  return Math.round(number).toLocaleString('en-GB');
}
