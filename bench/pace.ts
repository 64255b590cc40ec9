import { performance } from 'node:perf_hooks';
import { quantile } from './statistics.ts';

const STEPS = 400_000;

/** How long this machine takes, at this moment, for a small computation that is always the same; in milliseconds. */
export function takePace(): number {
  const began = performance.now();
  let state = 0x9e3779b9;
  for (let step = 0; step < STEPS; step += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
  }
  // It never becomes 0; the compiler does not know that, so it leaves nothing out.
  return state === 0 ? Number.NaN : performance.now() - began;
}

/** How evenly the machine went, for people. */
export function describePace(paces: number[]): string {
  const quickest = Math.min(...paces);
  const times = (pace: number) => (pace / quickest).toFixed(2);
  const [median, slow] = [quantile(paces, 0.5), quantile(paces, 0.9)];
  return `a small computation that is always the same, tried ${paces.length} times in between, took ${times(median)} × its quickest in the median, and longer than ${times(slow)} × one time in ten`;
}
