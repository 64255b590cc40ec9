import type { Journal } from '../journal.ts';

/** One fault, and its effect on writes. */
export interface FaultResult {
  fault: string;
  /** The primary before and after. */
  from: string;
  to: string;
  /** The longest time without an acknowledged write, in milliseconds. */
  pause: number;
}

/** The report of `npm run failover`. The test writes it only if nothing was lost. */
export interface FailoverReport {
  faults: FaultResult[];
  exchanges: number;
  revocations: number;
  refreshes: number;
  /** How often the newest tokens of a grant were used and refreshed after a fault. */
  refreshedAfter: number;
  /** How often a revoked token was presented during a fault. */
  rejected: number;
}

const REVOCATIONS = ['revoke', 'revoke access', 'disconnect', 'remove'];

export function createReport({ entries }: Journal, faults: FaultResult[], rejected: number): FailoverReport {
  const count = (...kinds: string[]) =>
    entries.filter(({ what, status }) => kinds.includes(what) && status < 400).length;
  return {
    faults,
    exchanges: count('exchange'),
    revocations: count(...REVOCATIONS),
    refreshes: count('refresh'),
    refreshedAfter: count('refresh after'),
    rejected,
  };
}

const isWrite = ({ what, status }: Journal['entries'][number]) =>
  (what === 'exchange' || REVOCATIONS.includes(what)) && status < 400;

/** Whether a write that was begun after this time has been acknowledged. */
export function hasWrittenSince({ entries }: Journal, since: number): boolean {
  return entries.some((entry) => isWrite(entry) && entry.began >= since);
}

/** The longest time between two acknowledged writes, from this time on. */
export function longestPause({ entries }: Journal, since: number): number {
  const ends = entries.filter((entry) => isWrite(entry) && entry.ended >= since).map(({ ended }) => ended);
  const times = [since, ...ends.toSorted((a, b) => a - b)];
  return Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? time)));
}
