import { Overloaded } from './errors.ts';

/** For work that is dear: so much of it at once, so much more in turn, and whoever comes on top is told to come back. */
export function newPlaces({ atOnce, inTurn }: { atOnce: number; inTurn: number }) {
  const waiting: (() => void)[] = [];
  let taken = 0;

  async function enter(): Promise<void> {
    if (taken < atOnce) {
      taken += 1;
      return;
    }
    if (waiting.length >= inTurn) throw new Overloaded();
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  /** A place goes to whoever has waited longest, without being free in between. */
  function leave(): void {
    const next = waiting.shift();
    if (next) next();
    else taken -= 1;
  }

  return {
    async take<Result>(work: () => Promise<Result>): Promise<Result> {
      await enter();
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
