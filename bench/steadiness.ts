import { performance } from 'node:perf_hooks';
import { quantile } from './statistics.ts';

const TEXT = JSON.stringify({ id: 'a'.repeat(36), scopes: ['read', 'write'], parties: { user: 'b', business: 'c' } });
const TIMES = 500;

/** How long this machine takes, at this moment, for a little work that is always the same; in milliseconds. */
export function timeSameWork(): number {
  const began = performance.now();
  let length = 0;
  for (let time = 0; time < TIMES; time += 1) length += JSON.stringify(JSON.parse(TEXT)).length;
  // Asked for, so that none of it is left out.
  return length === TIMES * TEXT.length ? performance.now() - began : Number.NaN;
}

/** How evenly the machine went, for people. */
export function describeSteadiness(times: number[]): string {
  const quickest = Math.min(...times);
  const ratio = (time: number) => (time / quickest).toFixed(2);
  const [median, slow] = [quantile(times, 0.5), quantile(times, 0.9)];
  return `a fixed piece of work (parsing and serializing JSON), done ${times.length} times in between, took ${ratio(median)} × its fastest run in the median, and more than ${ratio(slow)} × in one of ten runs`;
}
