/** Questions and audit entries say how many people or connections a change concerns. Nobody needs a larger number, and it takes time. */
export const MAX_COUNTED = 10_000;

/** For a count that stopped at `MAX_COUNTED` and one. */
export function formatCount(count: number): string {
  return count > MAX_COUNTED ? `more than ${MAX_COUNTED.toLocaleString('en')}` : count.toLocaleString('en');
}
