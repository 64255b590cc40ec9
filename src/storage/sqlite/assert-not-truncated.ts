import { statSync } from 'node:fs';
import { SECOND, systemClock } from '../../lib/clock.ts';

/** Between making its file and writing the first page a new database is empty; for no longer than this. */
const MADE_WITHIN = 2 * SECOND;
const LOOK_EVERY = 50;

/**
 * SQLite takes an empty file for a new database. But whoever has none yet has no file, either: one that is empty was cut
 * off, and to every app that comes with a token of before it would be said that there never was such a token.
 */
export function refuseEmptied(path: string): void {
  const since = systemClock();
  while (statSync(path, { throwIfNoEntry: false })?.size === 0) {
    if (systemClock() - since > MADE_WITHIN) {
      throw new Error('the file is empty. To begin anew, remove it; or else put a backup in its place');
    }
    pause(LOOK_EVERY);
  }
}

function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
