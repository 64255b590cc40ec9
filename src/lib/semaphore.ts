import { Overloaded } from './errors.ts';

/**
 * Limits how much work runs at once. Further work waits in a queue, first come, first served; when the queue is full, it
 * is rejected.
 */
export function semaphore({ concurrency, maxQueue }: { concurrency: number; maxQueue: number }) {
  const queue: (() => void)[] = [];
  let running = 0;

  async function acquire(): Promise<void> {
    if (running < concurrency) {
      running += 1;
      return;
    }
    if (queue.length >= maxQueue) throw new Overloaded();
    await new Promise<void>((resolve) => queue.push(resolve));
  }

  /** Passes the slot on to the next in the queue, so that later work cannot overtake it. */
  function release(): void {
    const next = queue.shift();
    if (next) next();
    else running -= 1;
  }

  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await acquire();
    try {
      return await work();
    } finally {
      release();
    }
  };
}
