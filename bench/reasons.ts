import type { Profile } from './profile.ts';
import { find, type Growth, type Results } from './results.ts';
import type { Spread } from './statistics.ts';
import { describeSteadiness } from './steadiness.ts';

const NOTHING = { parts: {} };

/** Of the parts that take at least a microsecond. */
const MAX_PARTS = 3;

/** Compares with the bare server, and names the parts that take the most CPU time. */
export function whyNoFaster(results: Results, ours: string, scenario: string, theirs: string): string {
  const profileOf = (contender: string) =>
    results.profiles.find((each) => each.contender === contender && each.scenario === scenario);
  if (ours.endsWith('postgres')) {
    const longest = listLongest(profileOf(ours), NOTHING);
    return longest && `The largest parts of an iteration, all on the same two cores: ${longest}.`;
  }
  const [limit, peer] = [find(results.measured, 'bare', scenario), find(results.measured, theirs, scenario)];
  const sentences = [];
  if (theirs !== 'bare' && limit?.perSecond && peer?.perSecond) {
    const ratio = (limit.perSecond.median / peer.perSecond.median).toFixed(2);
    sentences.push(`The bare server, which runs the same SQL and MACs and nothing else, reaches ${ratio} ×.`);
  }
  const longest = listLongest(profileOf(ours), profileOf('bare'));
  if (longest) sentences.push(`The additional time of Gatehouse per iteration, longest first: ${longest}.`);
  return sentences.join(' ');
}

export function whyLate({ measured }: Results, scenario: string): string {
  const latency = find(measured, 'bare', scenario)?.latency;
  if (!latency) return '';
  const limit = `The bare server, which does nothing else, reaches ${(latency.p99 / latency.median).toFixed(1)} × there`;
  return `${limit}; ${describeMachine(measured)}.`;
}

export function whyNotReady({ measured }: Results, { min, max }: Spread): string {
  const [quick, slow] = [min, max].map((milliseconds) => (milliseconds / 1000).toFixed(2));
  return `The starts took ${quick} to ${slow} s; ${describeMachine(measured)}.`;
}

function describeMachine(measured: Results['measured']): string {
  return `for comparison, ${describeSteadiness(measured.flatMap(({ sameWork }) => sameWork))}`;
}

export function whySlower({ profiles }: Growth, scenario: string): string {
  const [small, large] = profiles.filter((each) => each.scenario === scenario);
  const longest = listLongest(large, small);
  return longest ? `What takes longer per iteration with the most grants: ${longest}.` : '';
}

function listLongest(one: Profile | undefined, other: Pick<Profile, 'parts'> | undefined): string {
  if (!one || !other) return '';
  return Object.entries(one.parts)
    .map(([part, microseconds]) => ({ part, more: Math.round(microseconds - (other.parts[part] ?? 0)) }))
    .filter(({ more }) => more >= 1)
    .sort((a, b) => b.more - a.more)
    .slice(0, MAX_PARTS)
    .map(({ part, more }) => `${part} (${more} µs)`)
    .join('; ');
}
