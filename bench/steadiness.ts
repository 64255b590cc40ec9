import { performance } from 'node:perf_hooks';
import { quantile } from './statistics.ts';

const TEXT = JSON.stringify({ id: 'a'.repeat(36), scopes: ['read', 'write'], parties: { user: 'b', business: 'c' } });
const TIMES = 500;

/** Times a fixed piece of work, in milliseconds: shows how fast the machine is at the moment. */
export function timeSameWork(): number {
  const began = performance.now();
  let length = 0;
  for (let time = 0; time < TIMES; time += 1) length += JSON.stringify(JSON.parse(TEXT)).length;
  // Uses the result, so that the compiler cannot remove the work.
  return length === TIMES * TEXT.length ? performance.now() - began : Number.NaN;
}

export function describeSteadiness(times: number[]): string {
  const fastest = Math.min(...times);
  const ratio = (time: number) => (time / fastest).toFixed(2);
  const [median, slow] = [quantile(times, 0.5), quantile(times, 0.9)];
  return `a fixed piece of work (parsing and serializing JSON), done ${times.length} times in between, took ${ratio(median)} × its fastest run in the median, and more than ${ratio(slow)} × in one of ten runs`;
}
