import { setTimeout } from 'node:timers/promises';

/** Milliseconds between two polls. The interval doubles while there is nothing to do. */
const MIN_INTERVAL = 50;
const MAX_INTERVAL = 500;

/** The longest pause between two transactions of a job, in milliseconds. */
const MAX_PAUSE = 50;

export interface Polling {
  /** The next poll follows at once. */
  wake(): void;
  stop(): Promise<void>;
}

/** `poll` returns whether there was work. */
export function startPolling(
  poll: (isStopped: () => boolean) => Promise<boolean>,
  report: (error: unknown) => void,
): Polling {
  let hasStopped = false;
  let isAwake = false;
  let pause = new AbortController();
  const isStopped = () => hasStopped;
  const polling = (async () => {
    for (let interval = MIN_INTERVAL; !hasStopped; interval = Math.min(2 * interval, MAX_INTERVAL)) {
      isAwake = false;
      const isBusy = await poll(isStopped).catch(report);
      if (isBusy) interval = MIN_INTERVAL;
      if (isAwake || hasStopped) continue;
      pause = new AbortController();
      await setTimeout(interval, undefined, { signal: pause.signal, ref: false }).catch(() => {});
    }
  })();
  return {
    wake() {
      isAwake = true;
      pause.abort();
    },
    async stop() {
      hasStopped = true;
      pause.abort();
      await polling;
    },
  };
}

/** After a transaction of a job. On SQLite, requests wait for it, so as long a pause follows: half of the time is theirs. */
export async function pauseFor(took: number): Promise<void> {
  await setTimeout(Math.min(took, MAX_PAUSE));
}
