import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../lib/clock.ts';
import { BUSY_TIMEOUT, isBusy, translateError } from './connection.ts';
import type { Durability, GroupCommit } from './group-commit.ts';

/** A mutex around the one connection: a transaction may span an `await`. */
export interface ConnectionLock {
  isInTransaction: boolean;
  /** Resolves when the holder's writes are committed, and on disk if they are durable. */
  pendingCommit: Promise<void> | undefined;
  isTaken: boolean;
  acquire(): Promise<void>;
  /** Returns `pendingCommit`, which the caller has to await if it wrote anything. */
  release(): Promise<void> | undefined;
}

export function createConnectionLock(): ConnectionLock {
  const waiting: (() => void)[] = [];
  const lock: ConnectionLock = {
    isTaken: false,
    isInTransaction: false,
    pendingCommit: undefined,
    async acquire() {
      if (lock.isTaken) await new Promise<void>((resolve) => waiting.push(resolve));
      lock.isTaken = true;
    },
    release() {
      const { pendingCommit } = lock;
      lock.isInTransaction = false;
      lock.pendingCommit = undefined;
      const next = waiting.shift();
      if (next) next();
      else lock.isTaken = false;
      return pendingCommit;
    },
  };
  return lock;
}

/** Constant, without growing pauses: otherwise a new process would overtake one that has waited for long. */
const RETRY_INTERVAL = 2;

/**
 * Opens or joins the group of writes that is committed next; the caller holds the connection lock. Returns a promise if
 * another process is writing: it releases the connection lock while it waits, so that reads continue.
 */
export type BeginWrite = (durability: Durability) => Promise<void> | undefined;

/** All writers wait together, with one retry loop. After a timeout writers fail at once, until one succeeds. */
export function createWriteLock(lock: ConnectionLock, commits: GroupCommit, timeout = BUSY_TIMEOUT): BeginWrite {
  let waiting: Promise<void> | undefined;
  let isTimedOut = false;

  function tryJoin(durability: Durability): boolean {
    try {
      lock.pendingCommit = commits.join(durability);
      isTimedOut = false;
      return true;
    } catch (error) {
      if (isTimedOut || !isBusy(error)) throw translateError(error);
      return false;
    }
  }

  function retry(): Promise<void> {
    const deadline = systemClock() + timeout;
    return repeat(lock, () => {
      isTimedOut = systemClock() > deadline;
      return tryJoin('relaxed');
    });
  }

  async function joinLater(durability: Durability): Promise<void> {
    do {
      lock.release();
      waiting ??= retry().finally(() => {
        waiting = undefined;
      });
      try {
        await waiting;
      } finally {
        await lock.acquire();
      }
    } while (!tryJoin(durability));
  }

  return (durability) => (tryJoin(durability) ? undefined : joinLater(durability));
}

/** Until `attempt` returns true or throws. Other statements run between two attempts. */
async function repeat(lock: ConnectionLock, attempt: () => boolean): Promise<void> {
  for (let isDone = false; !isDone; ) {
    await setTimeout(RETRY_INTERVAL);
    await lock.acquire();
    try {
      isDone = attempt();
    } finally {
      lock.release();
    }
  }
}
