import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { findTool, ROOT, run } from './tools.ts';

const PARSE = `
import json, sys, promql_parser
for expression in json.loads(sys.argv[1]):
    try:
        promql_parser.parse(expression)
    except ValueError as error:
        sys.exit(f"{expression}: {error}")
`;

/** Parses each expression of the alerts and of the dashboard as PromQL, and checks its types. */
export async function checkMonitoring(): Promise<string> {
  const python = await findTool('promql-parser');
  const { groups } = parse(readFileSync(join(ROOT, 'deploy/prometheus/alerts.yml'), 'utf8'));
  const { panels } = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/gatehouse.json'), 'utf8'));
  const rules: Expression[] = groups.flatMap(({ rules }: { rules: Expression[] }) => rules);
  const targets: Expression[] = panels.flatMap(({ targets = [] }: { targets?: Expression[] }) => targets);
  const expressions = [...rules, ...targets].map(({ expr }) => expr.replaceAll('$__rate_interval', '1m'));
  await run(python, ['-c', PARSE, JSON.stringify(expressions)]);
  return `the expressions of ${rules.length} alerts and ${targets.length} queries of the dashboard are PromQL`;
}

interface Expression {
  expr: string;
}
