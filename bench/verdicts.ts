import type { Measured } from './measure.ts';
import { whyLate, whyNoFaster, whyNotReady, whySlower } from './reasons.ts';
import { find, type Results } from './results.ts';
import { SCENARIOS } from './scenarios/all.ts';

/** A requirement, and whether it is met. */
export interface Verdict {
  what: string;
  wanted: string;
  found: string;
  isMet: boolean;
  /** If it is not met: the cause, as far as this run shows it. */
  why?: string;
}

const MEGABYTE = 1024 * 1024;

/** Only what was measured in this run. */
export function judge(results: Results): Verdict[] {
  return [
    ...judgeRatios(results),
    ...judgeLatencies(results),
    ...judgeGrowth(results),
    ...judgeLongLife(results),
    ...judgeOverhead(results),
  ];
}

const SQLITE = 'gatehouse-sqlite';
const POSTGRES = 'gatehouse-postgres';

/** Only peers with persistent storage, on the same engine; and the limit of Node and SQLite. */
const GOALS: [ours: string, scenario: string, theirs: string, least: number][] = [
  [POSTGRES, 'refresh', 'oidc-provider-postgres', 5],
  [POSTGRES, 'introspect', 'oidc-provider-postgres', 3],
  [POSTGRES, 'revoke', 'oidc-provider-postgres', 2],
  [POSTGRES, 'flow', 'oidc-provider-postgres', 2],
  [POSTGRES, 'flow', 'better-auth-postgres', 2],
  [SQLITE, 'flow', 'better-auth', 2],
  [SQLITE, 'refresh', 'bare', 0.75],
  [SQLITE, 'call', 'bare', 0.75],
];

/** How many times the iterations of the other; undefined if one was not measured. */
export function ratioOf(results: Results, ours: string, scenario: string, theirs: string): number | undefined {
  const [a, b] = [find(results.measured, ours, scenario), find(results.measured, theirs, scenario)];
  return a?.perSecond && b?.perSecond ? a.perSecond.median / b.perSecond.median : undefined;
}

/** Gatehouse against `oidc-provider`, both on PostgreSQL. */
export function comparePostgres(results: Results): { title: string; ratio: number }[] {
  return SCENARIOS.flatMap(({ name, title }) => {
    const ratio = ratioOf(results, POSTGRES, name, 'oidc-provider-postgres');
    return ratio === undefined ? [] : [{ title, ratio }];
  });
}

function judgeRatios(results: Results): Verdict[] {
  return GOALS.flatMap(([ours, scenario, theirs, least]) => {
    const ratio = ratioOf(results, ours, scenario, theirs);
    if (ratio === undefined) return [];
    const what = `${titleOf(scenario)}: ${nameOf(results, ours)} against ${nameOf(results, theirs)}`;
    const why = whyNoFaster(results, ours, scenario, theirs);
    return [{ what, wanted: `at least ${least} ×`, found: `${ratio.toFixed(2)} ×`, isMet: ratio >= least, why }];
  });
}

function judgeLatencies(results: Results): Verdict[] {
  const ours = results.measured.filter(({ contender }) => contender.startsWith('gatehouse'));
  const worst = ours
    .flatMap(({ contender, scenario, latency }) =>
      latency ? [{ contender, scenario, ratio: latency.p99 / latency.median }] : [],
    )
    .sort((a, b) => b.ratio - a.ratio)[0];
  if (!worst) return [];
  const found = `${worst.ratio.toFixed(1)} × at worst (${titleOf(worst.scenario).toLowerCase()}, ${nameOf(results, worst.contender)})`;
  const what = '99th percentile against the median, at 80 % of the peak';
  const why = whyLate(results, worst.scenario);
  return [{ what, wanted: 'at most 10 ×', found, isMet: worst.ratio <= 10, why }];
}

function judgeGrowth({ growth }: Results): Verdict[] {
  return growth.flatMap((grown) => {
    const { engine, measured } = grown;
    const worst = findSlowed(measured);
    if (!worst) return [];
    const { least, most, scenario, ratio } = worst;
    const what = `Any scenario with ${most.toLocaleString('en-GB')} grants against ${least.toLocaleString('en-GB')}, ${titleOfEngine(engine)}`;
    const found = `${ratio.toFixed(2)} × at worst (${titleOf(scenario).toLowerCase()})`;
    return [{ what, wanted: 'at least 0.8 ×', found, isMet: ratio >= 0.8, why: whySlower(grown, scenario) }];
  });
}

/** The scenario that slows down most from the smallest to the largest size; undefined if there is only one size. */
export function findSlowed(measured: Measured[]) {
  const sizes = sizesOf(measured);
  const [least, most] = [sizes[0], sizes.at(-1)];
  if (least === undefined || most === undefined || least === most) return undefined;
  const ratios = SCENARIOS.flatMap(({ name: scenario }) => {
    const [small, large] = [find(measured, String(least), scenario), find(measured, String(most), scenario)];
    if (!small?.perSecond || !large?.perSecond) return [];
    return [{ least, most, scenario, ratio: large.perSecond.median / small.perSecond.median }];
  });
  return ratios.sort((a, b) => a.ratio - b.ratio)[0];
}

function judgeLongLife({ chains, bytes }: Results): Verdict[] {
  const most: Record<string, number> = { sqlite: 600, postgres: 800 };
  return [
    ...chains.map(({ engine, refreshes, newRows }) => ({
      what: `Rows after ${refreshes.toLocaleString('en-GB')} refreshes of one grant, ${titleOfEngine(engine)}`,
      wanted: '0 new',
      found: `${newRows} new`,
      isMet: newRows === 0,
    })),
    ...bytes.map(({ engine, perGrant }) => ({
      what: `Bytes per active grant, ${titleOfEngine(engine)}`,
      wanted: `at most ${most[engine]}`,
      found: String(Math.round(perGrant)),
      isMet: perGrant <= (most[engine] ?? 0),
    })),
  ];
}

function judgeOverhead(results: Results): Verdict[] {
  const { starts, memory } = results;
  return [
    ...starts.map(({ engine, ready }) => ({
      what: `Ready after start, ${titleOfEngine(engine)}`,
      wanted: 'at most 1 s',
      found: `${(ready.median / 1000).toFixed(2)} s`,
      isMet: ready.median <= 1000,
      why: whyNotReady(results, ready),
    })),
    ...memory.map(({ engine, requests, bytesAfter }) => ({
      what: `Resident memory after ${requests.toLocaleString('en-GB')} requests, ${titleOfEngine(engine)}`,
      wanted: 'at most 200 MB',
      found: bytesAfter === null ? 'unknown' : `${Math.round(bytesAfter / MEGABYTE)} MB`,
      isMet: bytesAfter !== null && bytesAfter <= 200 * MEGABYTE,
    })),
  ];
}

export function titleOfEngine(engine: string): string {
  return engine === 'sqlite' ? 'SQLite' : 'PostgreSQL';
}

export function sizesOf(measured: Measured[]): number[] {
  return [...new Set(measured.map(({ contender }) => Number(contender)))].sort((a, b) => a - b);
}

function titleOf(scenario: string): string {
  return SCENARIOS.find(({ name }) => name === scenario)?.title ?? scenario;
}

export function nameOf({ contenders }: Results, contender: string): string {
  return contenders.find(({ name }) => name === contender)?.title ?? contender;
}
