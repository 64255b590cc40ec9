import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { findTool, ROOT, run } from './tools.ts';

/** Prometheus itself parses each expression: those of the alerts, and those of the dashboard as recording rules. */
export async function checkMonitoring(): Promise<string> {
  const promtool = await findTool('promtool');
  const { panels } = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/gatehouse.json'), 'utf8'));
  const expressions: string[] = panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
    targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$\w+/g, 'x')),
  );
  const rules = expressions.map((expr, i) => ({ record: `dashboard:expression:${i}`, expr }));
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-monitoring-'));
  try {
    const file = join(folder, 'dashboard.yml');
    writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
    await run(promtool, [
      'check',
      'rules',
      '--lint=all',
      '--lint-fatal',
      join(ROOT, 'deploy/prometheus/alerts.yml'),
      file,
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return `the alerts and ${expressions.length} expressions of the dashboard`;
}
