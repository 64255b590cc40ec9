import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { REASONS } from '../../src/http/errors.ts';
import { freePort } from '../support/ports.ts';
import { startTestServer } from '../support/test-server.ts';
import { readExposition } from './exposition.ts';

const port = await freePort();
const server = await startTestServer({ METRICS_LISTEN: String(port) });
const families = readExposition(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
const PAGE = readText('docs/reference/metrics.md');
const { groups } = parse(readText('deploy/prometheus/alerts.yml'));
const rules: Alert[] = groups.flatMap(({ rules }: { rules: Alert[] }) => rules);
const dashboard: Dashboard = JSON.parse(readText('deploy/grafana/gatehouse.json'));
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const targets = panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })));

function readText(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

test('each alert has a name of its own, a severity and a text', () => {
  assert.ok(rules.length >= 12);
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  for (const { alert, labels, annotations } of rules) {
    assert.match(alert, /^Gatehouse[A-Z]\w+$/);
    assert.match(labels.severity, /^(page|ticket)$/);
    assert.ok(annotations.summary && annotations.description, alert);
  }
});

test('the alerts use only existing metrics and labels', () => {
  for (const { alert, expr, annotations } of rules) checkExpression(alert, expr, annotations.summary);
});

test('the dashboard uses only existing metrics and labels', () => {
  for (const { title, expr, legendFormat } of targets) checkExpression(title, expr, legendFormat);
});

test('the dashboard shows every metric that Gatehouse exports', () => {
  const shown = new Set(targets.flatMap(({ expr }) => metricsIn(expr)).map(familyOf));

  assert.deepEqual([...families.keys()].filter((name) => !shown.has(name)).sort(), []);
});

test('no panel of the dashboard covers another, and each selects the job and the instances of the page', () => {
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
  );
  const ids = dashboard.panels.map(({ id }) => id);

  assert.equal(new Set(cells).size, cells.length);
  assert.equal(new Set(ids).size, ids.length);
  for (const { title, expr } of targets) {
    const selectors = [...expr.matchAll(/\b(?:gatehouse|process|nodejs)_\w+(\{[^}]*\})?|\bup(\{[^}]*\})/g)];
    for (const [, own, up] of selectors) assert.match(own ?? up ?? '', /job="\$job", instance=~"\$instance"/, title);
  }
});

function checkExpression(title: string, expr: string, text: string): void {
  const names = metricsIn(expr);
  assert.ok(names.length > 0 || /\bup\{/.test(expr), title);
  for (const name of names) assert.ok(families.has(familyOf(name)), `${title}: ${name}`);
  for (const [name, label, isWanted] of selectorsIn(expr)) {
    assert.ok(labelsOf(name).includes(label), `${title}: ${name} has no ${label}`);
    if (['job', 'instance'].includes(label)) continue;
    const exported = families.get(familyOf(name))?.series.map(({ labels }) => labels[label] ?? '') ?? [];
    assert.ok([...exported, ...valuesOf(name)].some(isWanted), `${title}: no ${label} of ${name} matches`);
  }
  const grouped = [...expr.matchAll(/by \(([\w, ]+)\)/g)].flatMap(([, labels = '']) => labels.split(', '));
  const shown = [...text.matchAll(/(?:\$labels\.|\{\{)(\w+)/g)].map(([, label = '']) => label);
  for (const label of [...grouped, ...shown]) {
    assert.ok(
      [...names, 'up'].some((name) => labelsOf(name).includes(label)),
      `${title}: ${label}`,
    );
  }
}

function metricsIn(expr: string): string[] {
  return expr.match(/\b(?:gatehouse|process|nodejs)_\w+/g) ?? [];
}

function familyOf(name: string): string {
  return name.replace(/_(bucket|count|sum)$/, '');
}

/** Each `metric{label="value"}` of an expression, with what its value has to be. */
function selectorsIn(expr: string): [name: string, label: string, isWanted: (value: string) => boolean][] {
  return [...expr.matchAll(/\b(\w+)\{([^}]*)\}/g)].flatMap(([, name = '', pairs = '']) =>
    pairs.split(',').map((pair): ReturnType<typeof selectorsIn>[number] => {
      const [, label = '', operator = '', value = ''] = /^\s*(\w+)(!?=~?)"([^"]*)"\s*$/.exec(pair) ?? [];
      const isEqual = (each: string) =>
        operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(each) : each === value;
      return [name, label, (each) => isEqual(each) !== operator.startsWith('!')];
    }),
  );
}

/** The labels on the page about metrics, and those that Prometheus adds. */
function labelsOf(name: string): string[] {
  const [, , , labels = ''] = rowOf(name).split('|');
  return ['job', 'instance', 'le', ...[...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label)];
}

/** Possible values of a label that the server may not have exported yet: those of the page, and each reason, route and status class. */
function valuesOf(name: string): string[] {
  const named = [...rowOf(name).matchAll(/`(\w+)`/g)].map(([, word = '']) => word);
  return [...named, ...Object.values(REASONS).flat(), ...server.routes.api.keys(), '4xx', '5xx'];
}

function rowOf(name: string): string {
  return PAGE.split('\n').find((line) => line.startsWith(`| \`${familyOf(name)}\` |`)) ?? '';
}

interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}

interface Dashboard {
  panels: {
    id: number;
    type: string;
    title: string;
    gridPos: { x: number; y: number; w: number; h: number };
    targets: { expr: string; legendFormat: string }[];
  }[];
}
