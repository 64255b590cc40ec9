import { SECOND } from '../../lib/clock.ts';

/** How long to wait for another process (the command line, a backup, another worker) to finish. */
export const BUSY_MS = 5 * SECOND;

/** SQLite's own code for it. */
const BUSY = 5;

export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === BUSY;
}
