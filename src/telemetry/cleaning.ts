import { SECOND } from '../lib/clock.ts';
import { type Metric, newCounter } from './registry.ts';

const TABLES = [
  'audit_entries',
  'audit_repeats',
  'grants',
  'revoked_access_tokens',
  'sessions',
  'invitations',
  'used_challenges',
  'events',
  'deliveries',
  'attempts',
  'logged_requests',
  'request_counts',
  'scope_uses',
  'rate_limits',
] as const;

export type CleanedTable = (typeof TABLES)[number];

export interface CleaningMeter {
  removed(table: CleanedTable, rows: number): void;
  /** Nothing was left to remove. */
  finished(now: number): void;
  /** How far the clock is ahead of what is plausible, in milliseconds; 0 if it is plausible. */
  noteClockJump(milliseconds: number): void;
}

export function newCleaningMetrics(): { metrics: Metric[]; meter: CleaningMeter } {
  const help = 'Rows removed because they no longer matter, by table.';
  const removed = newCounter('gatehouse_clean_up_removed_rows_total', help, 'table', TABLES);
  let finishedAt = 0;
  const finished: Metric = {
    name: 'gatehouse_clean_up_finished_timestamp_seconds',
    help: 'When the clean-up last had nothing left to remove, in seconds since 1970; 0 if it never had.',
    type: 'gauge',
    read: () => [{ value: finishedAt / SECOND }],
  };
  let clockJump = 0;
  const jump: Metric = {
    name: 'gatehouse_clock_jump_seconds',
    help: 'How far the clock jumped ahead of what is plausible, until an operator confirms it; 0 if it did not.',
    type: 'gauge',
    read: () => [{ value: clockJump / SECOND }],
  };
  return {
    metrics: [removed.metric, finished, jump],
    meter: {
      removed: removed.add,
      finished(now) {
        finishedAt = now;
      },
      noteClockJump(milliseconds) {
        clockJump = milliseconds;
      },
    },
  };
}
