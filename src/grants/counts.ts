/** Questions and audit entries say how many people or connections a change concerns. Nobody needs a larger number, and it takes time. */
export const MAX_COUNTED = 10_000;

/** How many grants are read to count people or connections, each of which can have many. */
export const MAX_READ = 2 * MAX_COUNTED;
/** For each row of a list. */
export const MAX_READ_IN_LIST = 1000;

export interface Counted {
  /** Whether reading stopped before the end: there are at least as many. */
  isPart: boolean;
}

export function formatCount(count: number, { isPart }: Counted): string {
  if (count > MAX_COUNTED) return `more than ${MAX_COUNTED.toLocaleString('en')}`;
  return `${isPart ? 'at least ' : ''}${count.toLocaleString('en')}`;
}
