/** Who has the one connection. */
export interface Lock {
  isInTransaction: boolean;
  /** Kept once what its holder wrote is as safe as it has to be. */
  written: Promise<void> | undefined;
  isTaken(): boolean;
  take(): Promise<void>;
  release(): void;
  /** The next one may go on, but whoever wrote waits until that is as safe as it has to be. */
  giveBack(): Promise<void> | undefined;
}

export function newLock(): Lock {
  const waiting: (() => void)[] = [];
  let isTaken = false;
  const lock: Lock = {
    isInTransaction: false,
    written: undefined,
    isTaken: () => isTaken,
    async take() {
      if (isTaken) await new Promise<void>((resolve) => waiting.push(resolve));
      isTaken = true;
    },
    release() {
      lock.isInTransaction = false;
      lock.written = undefined;
      const next = waiting.shift();
      if (next) next();
      else isTaken = false;
    },
    giveBack() {
      const { written } = lock;
      lock.release();
      return written;
    },
  };
  return lock;
}
