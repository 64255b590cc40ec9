/** Pauses all workers before their next step while it is closed. */
export type Gate = ReturnType<typeof createGate>;

export function createGate() {
  let isClosed = false;
  let isOver = false;
  let waiting: ((continues: boolean) => void)[] = [];
  let workers = 0;
  let whenAllWait = () => {};
  const checkAllWaiting = () => {
    if (waiting.length === workers) whenAllWait();
  };
  return {
    /** Counts a worker until its work is done. */
    async run(work: () => Promise<void>): Promise<void> {
      workers += 1;
      try {
        await work();
      } finally {
        workers -= 1;
        checkAllWaiting();
      }
    },
    async mayContinue(): Promise<boolean> {
      if (isOver) return false;
      if (!isClosed) return true;
      return new Promise<boolean>((resolve) => {
        waiting.push(resolve);
        checkAllWaiting();
      });
    },
    /** Resolves once every worker has finished its step and waits. */
    async close(): Promise<void> {
      isClosed = true;
      await new Promise<void>((resolve) => {
        whenAllWait = resolve;
        checkAllWaiting();
      });
    },
    open(why: 'to continue' | 'to stop' = 'to continue') {
      isClosed = false;
      isOver ||= why === 'to stop';
      const released = waiting;
      waiting = [];
      for (const release of released) release(!isOver);
    },
  };
}
