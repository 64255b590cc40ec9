import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../lib/clock.ts';
import { BUSY_MS, isBusy } from './busy.ts';
import type { Lock } from './file-lock.ts';
import type { Commits, Durability } from './group-commit.ts';

/** At one pace, so that whoever has just come does not overtake who has waited for long. */
const ASKS_EVERY_MS = 2;

/**
 * For whoever has the lock and is about to write: afterwards it belongs to a group. A promise if it has to be waited for,
 * in which time others may have the lock.
 */
export type Enter = (durability: Durability) => Promise<void> | undefined;

/**
 * While another process writes, those who want to write wait, all of them together, and everyone else goes on. Once that
 * was in vain, they are refused at once, until someone is let in.
 */
export function newEntrance(lock: Lock, commits: Commits, patience = BUSY_MS): Enter {
  let waiting: Promise<void> | undefined;
  let isShut = false;

  function isLetIn(durability: Durability): boolean {
    try {
      lock.written = commits.join(durability);
      isShut = false;
      return true;
    } catch (error) {
      if (isShut || !isBusy(error)) throw error;
      return false;
    }
  }

  async function wait(): Promise<void> {
    const until = systemClock() + patience;
    for (let isOpen = false; !isOpen; ) {
      await setTimeout(ASKS_EVERY_MS);
      isShut = systemClock() > until;
      await lock.take();
      try {
        isOpen = isLetIn('recoverable');
      } finally {
        lock.release();
      }
    }
  }

  async function enterLater(durability: Durability): Promise<void> {
    do {
      lock.release();
      waiting ??= wait().finally(() => {
        waiting = undefined;
      });
      try {
        await waiting;
      } finally {
        await lock.take();
      }
    } while (!isLetIn(durability));
  }

  return (durability) => (isLetIn(durability) ? undefined : enterLater(durability));
}
