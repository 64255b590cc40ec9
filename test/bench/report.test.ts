import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawChart } from '../../bench/charts.ts';
import { combine } from '../../bench/load.ts';
import type { Measured } from '../../bench/measure.ts';
import type { Profile } from '../../bench/profile.ts';
import { PART_TITLES, partOf } from '../../bench/profile-parts.ts';
import { writeReport } from '../../bench/report.ts';
import type { Results } from '../../bench/results.ts';
import { latencyOf, spreadOf } from '../../bench/statistics.ts';
import { judge } from '../../bench/verdicts.ts';

const OWN = { functionName: 'refresh', url: 'file:///a/src/oauth/refresh.ts' };

function measured(contender: string, scenario: string, median: number | null): Measured {
  const perSecond = median === null ? null : { median, min: median, max: median };
  return { contender, scenario, perSecond, latency: null, cpu: null, loadShare: null, sameWork: [1] };
}

function resultsWith(changes: Partial<Results>): Results {
  return {
    date: '2030-01-01',
    command: 'npm run bench',
    machine: 'a machine',
    versions: {},
    pinning: 'pinned',
    connections: 32,
    rounds: 3,
    seconds: 1,
    warmUp: 1,
    contenders: ['gatehouse-sqlite', 'oidc-provider', 'bare'].map((name) => ({ name, title: name })),
    measured: [],
    growth: [],
    chains: [],
    bytes: [],
    cleaning: [],
    starts: [],
    memory: [],
    profiles: [],
    ...changes,
  };
}

test('expectations are checked against medians, and those without a measurement are skipped', () => {
  const refreshes = [
    measured('gatehouse-postgres', 'refresh', 4900),
    measured('oidc-provider-postgres', 'refresh', 1000),
  ];
  const bytes = [{ engine: 'sqlite', grants: 1000, perGrant: 601 }];

  const verdicts = judge(resultsWith({ measured: refreshes, bytes }));

  assert.deepEqual(
    verdicts.map(({ found, isMet }) => [found, isMet]),
    [
      ['4.90 ×', false],
      ['601', false],
    ],
  );
  const faster = [measured('gatehouse-postgres', 'refresh', 5000), measured('oidc-provider-postgres', 'refresh', 1000)];
  assert.equal(judge(resultsWith({ measured: faster }))[0]?.isMet, true);
});

test('a size that is slower than a smaller one is reported in every scenario', () => {
  const at = (size: string, refresh: number, call: number) => [
    measured(size, 'refresh', refresh),
    measured(size, 'call', call),
  ];
  const growth = [
    { engine: 'sqlite', measured: [...at('2000000', 1000, 700), ...at('1000', 1000, 1000)], profiles: [] },
  ];

  const [verdict] = judge(resultsWith({ growth }));

  assert.equal(verdict?.isMet, false);
  assert.match(verdict?.found ?? '', /0\.70 × .*bearer-protected call/);
});

test('the report has a dash where a contender does not offer something, and never a zero', () => {
  const cells = [measured('gatehouse-sqlite', 'introspect', 1234), measured('oidc-provider', 'introspect', null)];

  const report = writeReport(resultsWith({ measured: cells }));

  assert.match(report, /\| gatehouse-sqlite \| 1,234 /);
  assert.match(report, /\| oidc-provider \| – \|/);
  assert.doesNotMatch(report, /NaN|undefined|Infinity/);
});

test('the report breaks down the time of both servers, side by side and in total', () => {
  const profile = (contender: string, commits: number, own: number) => ({
    contender,
    scenario: 'refresh',
    parts: { [PART_TITLES[0] as string]: commits, [partOf(OWN, undefined) as string]: own },
  });

  const report = writeReport(resultsWith({ profiles: [profile('gatehouse-sqlite', 12, 30), profile('bare', 11, 4)] }));

  assert.match(report, /\| SQLite: commits \| 12 \/ 11 \|/);
  assert.match(report, /\| \*\*Total\*\* \| 42 \/ 15 \|/);
});

test('profile time is attributed by function, and idle time to none', () => {
  const native = (functionName: string) => ({ functionName, url: '' });

  assert.equal(partOf(native('(idle)'), undefined), undefined);
  assert.equal(partOf(native('all'), OWN), 'SQLite: statements');
  assert.equal(partOf(native('run'), { functionName: 'commit', url: OWN.url }), 'SQLite: commits');
  assert.equal(partOf({ functionName: 'x', url: 'file:///a/node_modules/find-my-way/index.js' }, OWN), PART_TITLES[9]);
  assert.equal(
    partOf({ functionName: 'parse', url: 'file:///a/node_modules/pg-protocol/dist/parser.js' }, OWN),
    PART_TITLES[8],
  );
  assert.match(partOf(OWN, undefined) ?? '', /own code/);
  assert.match(partOf({ functionName: 'emit', url: 'node:events' }, OWN) ?? '', /^Node/);
});

test('a chart names every bar and its value, in any colours, and escapes its texts', () => {
  const bars = [{ label: 'A & <B>', value: 10, text: '10', isOurs: true }];

  const picture = drawChart({ title: 'Refresh', unit: 'per second', bars });

  assert.match(picture, /A &#38; &#60;B&#62;<\/text>/);
  assert.match(picture, />10<\/text>/);
  assert.match(picture, /prefers-color-scheme: dark/);
});

test('medians, extremes and the 99th percentile are correct', () => {
  const numbers = Array.from({ length: 100 }, (_, index) => 100 - index);

  assert.deepEqual(spreadOf([3, 1, 2]), { median: 2, min: 1, max: 3 });
  assert.equal(spreadOf([1, 2, 3, 10]).median, 2.5);
  assert.deepEqual(latencyOf(numbers), { median: 50.5, p99: 99, requests: 100 });
});

test('several runs are merged: all requests divided by the total time', () => {
  const turn = (iterations: number, perSecond: number, cpu: number) => ({
    iterations,
    perSecond,
    cpu,
    cpuOfOthers: 0,
    cpuOfPostgres: 0,
    loadShare: 0.5,
  });

  const { iterations, perSecond, cpu, loadShare } = combine([turn(100, 100, 10), turn(300, 100, 30)]);

  assert.deepEqual(
    { iterations, perSecond, cpu, loadShare },
    { iterations: 400, perSecond: 100, cpu: 25, loadShare: 0.5 },
  );
  assert.equal(combine([turn(100, 100, 10), turn(100, 50, 10)]).perSecond, 200 / 3);
});

test('a missed target is reported with its limit and a breakdown of the time', () => {
  const flow = { scenario: 'flow' };
  const profiles: Profile[] = [
    {
      ...flow,
      contender: 'gatehouse-sqlite',
      parts: { 'SQLite: statements': 30, 'Fastify and its dependencies': 22 },
    },
    { ...flow, contender: 'bare', parts: { 'SQLite: statements': 29.8 } },
  ];
  const rates = [
    measured('gatehouse-sqlite', 'flow', 1500),
    measured('better-auth', 'flow', 1000),
    measured('bare', 'flow', 3000),
  ];

  const missing = writeReport(resultsWith({ measured: rates, profiles }));
  const [fast, slow] = [measured('gatehouse-sqlite', 'flow', 2500), rates.slice(1)];
  const met = writeReport(resultsWith({ measured: [fast, ...slow], profiles }));

  assert.match(
    missing,
    /better-auth\.\*\* The bare server, .* reaches 3\.00 ×\..* Fastify and its dependencies \(22 µs\)\./,
  );
  assert.doesNotMatch(missing, /statements \(\d+ µs\)/);
  assert.doesNotMatch(met, /reaches/);
});

test('the report opens with one chart and one sentence, about peers on the same PostgreSQL; peers in memory come later', () => {
  const rates = [
    measured('gatehouse-postgres', 'refresh', 6000),
    measured('oidc-provider-postgres', 'refresh', 1000),
    measured('gatehouse-postgres', 'revoke', 900),
    measured('oidc-provider-postgres', 'revoke', 450),
    measured('oidc-provider', 'refresh', 12_000),
  ];
  const names = ['gatehouse-postgres', 'oidc-provider-postgres', 'oidc-provider'];

  const report = writeReport(
    resultsWith({ measured: rates, contenders: names.map((name) => ({ name, title: name })) }),
  );

  const [, chart = '', sentence = ''] = report.split('\n\n');
  assert.match(chart, /performance\/overview\.svg/);
  assert.match(sentence, /Gatehouse completes 6\.0 × \(refresh\) and 2\.0 × \(revoke\) as many requests a second/);
  assert.match(
    report,
    /## Servers that store nothing[^#]*\| gatehouse-postgres against oidc-provider \| 0\.50 \| – \|/,
  );
});
