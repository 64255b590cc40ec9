import type { UpgradeReport } from './upgrade.ts';

/** Markdown. */
export function formatReport(report: UpgradeReport): string {
  const { phases, failures, lockWaits, longestSampledWait, plan, expand, contract } = report;
  const rows = phases.map(
    ({ name, operations, median, p99, longest, slowest }, index) =>
      `| ${name} | ${operations} | ${ms(median)} | ${ms(p99)} | ${ms(longest)} (${slowest}) | ${waitsIn(report, index)} |`,
  );
  return [
    plan.stdout,
    '| phase | operations | median | 99 % | longest | locks over 100 ms |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    `expand: ${expand.applied.join(', ')} in ${expand.seconds.toFixed(1)} s; waiting: ${expand.waiting.join(', ')}`,
    `contract: ${contract.applied.join(', ')} in ${contract.seconds.toFixed(1)} s`,
    `failed requests: ${failures.length}`,
    ...failures.slice(0, 10),
    `waits for a lock over 100 ms: ${lockWaits.length}; the longest that was sampled: ${ms(longestSampledWait)}`,
    ...lockWaits.slice(0, 10).map(({ text }) => text),
  ].join('\n');
}

function waitsIn({ phases, lockWaits }: UpgradeReport, index: number): number {
  const [from = 0, to = Number.POSITIVE_INFINITY] = [phases[index]?.began, phases[index + 1]?.began];
  return lockWaits.filter(({ at }) => at >= from && at < to).length;
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}
